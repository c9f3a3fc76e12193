#include "kernels/cuda/host/cublaslt.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "base/error.h"
#include "kernels/cuda/host/toolkit/cublaslt_choices.h"
#include "kernels/cuda/host/toolkit/cublaslt_problem.h"
#include "kernels/cuda/host/toolkit/event.h"

namespace assay::cuda {
namespace {

constexpr int most_candidates = 8;
constexpr int timed_runs = 5;
constexpr std::size_t workspace_alignment = 256;

std::int64_t span_bytes(const Matrix& matrix, int batches) {
  const std::int64_t one = matrix.stride * matrix.columns;
  return (one + matrix.batch_stride * (batches - 1)) * static_cast<std::int64_t>(size_of(matrix.dtype));
}

using Algorithms = std::vector<cublasLtMatmulHeuristicResult_t>;

}  // namespace

struct Product::State {
  ProductShape shape;
  ProductLayouts layouts;
  cublasLtMatmulHeuristicResult_t chosen = {};
  std::string chosen_how;
  /// Of windows: for addresses that are not what alignment_of says.
  std::optional<cublasLtMatmulHeuristicResult_t> at_any_address;

  explicit State(const ProductShape& asked) : shape(asked), layouts(layouts_of(asked)) {}

  cublasStatus_t start(const ProductMemory& memory, const cublasLtMatmulHeuristicResult_t& algorithm) const {
    if (shape.has_bias) set(layouts.description.get(), CUBLASLT_MATMUL_DESC_BIAS_POINTER, memory.bias);
    if (shape.has_scales) {
      set(layouts.description.get(), CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, memory.a_scale);
      set(layouts.description.get(), CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, memory.b_scale);
    }
    const bool whole = shape.a.dtype == DType::s8;
    const std::int32_t one = 1;
    const auto zero = static_cast<std::int32_t>(shape.beta);
    const void* alpha = whole ? static_cast<const void*>(&one) : &shape.alpha;
    const void* beta = whole ? static_cast<const void*>(&zero) : &shape.beta;
    const std::byte* added = memory.onto != nullptr ? memory.onto : memory.c;
    return cublaslt().matmul(cublaslt().handle, layouts.description.get(), alpha, memory.a, layouts.a.get(), memory.b,
                             layouts.b.get(), beta, added, layouts.onto.get(), memory.c, layouts.c.get(),
                             &algorithm.algo, memory.workspace, algorithm.workspaceSize, stream());
  }

  /// What the heuristic proposes for such addresses, best first.
  Algorithms proposals(Addresses addresses) const {
    Algorithms found(most_candidates);
    int count = 0;
    const Preference preference = preference_of(shape, addresses);
    const cublasStatus_t status = cublaslt().heuristic(cublaslt().handle, layouts.description.get(), layouts.a.get(),
                                                       layouts.b.get(), layouts.onto.get(), layouts.c.get(),
                                                       preference.get(), most_candidates, found.data(), &count);
    found.resize(status == CUBLAS_STATUS_SUCCESS ? static_cast<std::size_t>(count) : 0);
    std::erase_if(
        found, [this](const auto& one) { return one.state != CUBLAS_STATUS_SUCCESS || !is_allowed(shape, one.algo); });
    return found;
  }

  bool choose(const Algorithms& found);
  bool choose_fastest(const Algorithms& found, const ProductMemory& memory);
};

namespace {

/// Memory of the shape's sizes to time algorithms in; zeros, which multiply as fast as anything but for power.
class Scratch {
 public:
  explicit Scratch(const ProductShape& shape)
      : a_(cleared(span_bytes(shape.a, shape.batches))),
        b_(cleared(span_bytes(shape.b, shape.batches))),
        c_(cleared(span_bytes(shape.c, shape.batches))),
        bias_(cleared(shape.c.rows * static_cast<std::int64_t>(size_of(shape.c.dtype)))),
        scales_(cleared(sizeof(float))),
        workspace_(allocate_on(gpu(), most_workspace)) {}
  ProductMemory memory() const {
    const auto* scale = reinterpret_cast<const float*>(scales_.get());
    return {a_.get(), b_.get(), c_.get(), nullptr, bias_.get(), workspace_.get(), scale, scale};
  }

 private:
  static DeviceBytes cleared(std::int64_t bytes) {
    DeviceBytes memory = allocate_on(gpu(), static_cast<std::size_t>(bytes));
    gpu().clear(memory.get(), static_cast<std::size_t>(bytes));
    return memory;
  }
  DeviceBytes a_, b_, c_, bias_, scales_, workspace_;
};

std::optional<Scratch> make_scratch(const ProductShape& shape) {
  try {
    return std::optional<Scratch>(std::in_place, shape);
  } catch (const OutOfMemory&) {
    return std::nullopt;
  }
}

/// Milliseconds of some runs, the first one not counted; nothing where the library refuses it.
template <typename Run>
std::optional<double> time_of(const Run& run) {
  const Event begin;
  const Event end;
  if (run() != CUBLAS_STATUS_SUCCESS) return std::nullopt;
  begin.record(stream());
  for (int i = 0; i < timed_runs; ++i) check(run(), "multiplying");
  end.record(stream());
  return end.ms_since(begin);
}

}  // namespace

/// False: the library refuses every one of them.
bool Product::State::choose_fastest(const Algorithms& found, const ProductMemory& memory) {
  std::optional<double> best_ms;
  int timed = 0;
  for (const cublasLtMatmulHeuristicResult_t& one : found) {
    const std::optional<double> ms = time_of([&] { return start(memory, one); });
    if (!ms) continue;
    ++timed;
    if (best_ms && *ms >= *best_ms) continue;
    best_ms = ms;
    chosen = one;
  }
  if (timed == 0) return false;
  chosen_how = fmt::format("fastest of {}", timed);
  keep_choice(shape, {chosen, chosen_how});
  return true;
}

/// As an earlier product or run chose, else the fastest. False: there is none that runs.
bool Product::State::choose(const Algorithms& found) {
  if (const std::optional<Choice> kept = kept_choice(shape, layouts)) {
    chosen = kept->algorithm;
    chosen_how = kept->how;
    return true;
  }
  if (const std::optional<Scratch> scratch = make_scratch(shape)) return choose_fastest(found, scratch->memory());
  chosen = found.front();
  chosen_how = fmt::format("the heuristic's first of {}, no memory to time them", found.size());
  return true;
}

Product::Product(std::unique_ptr<State> state) : state_(std::move(state)) {}
Product::~Product() = default;

std::variant<std::shared_ptr<const Product>, Declined> Product::make(const ProductShape& asked) {
  const ProductShape shape = as_multiplied(asked);
  auto state = std::make_unique<State>(shape);
  const Algorithms found = state->proposals(Addresses::as_aligned);
  if (found.empty()) return Declined{fmt::format("cuBLASLt proposes nothing for {}", shape.key())};
  if (shape.a.is_window() || shape.b.is_window() || shape.c.is_window()) {
    const Algorithms anywhere = state->proposals(Addresses::any);
    if (anywhere.empty()) return Declined{fmt::format("cuBLASLt proposes nothing for windows of {}", shape.key())};
    state->at_any_address = anywhere.front();
  }
  if (!state->choose(found)) return Declined{fmt::format("cuBLASLt runs nothing that it proposes for {}", shape.key())};
  return std::shared_ptr<const Product>(new Product(std::move(state)));
}

void Product::run(const ProductMemory& asked) const {
  ProductMemory memory = asked;
  const auto behind = reinterpret_cast<std::uintptr_t>(memory.workspace) % workspace_alignment;
  if (behind != 0) memory.workspace += workspace_alignment - behind;
  const bool aligned = is_aligned(state_->shape, memory);
  ASSAY_ASSERT(aligned || state_->at_any_address.has_value());
  check(state_->start(memory, aligned ? state_->chosen : *state_->at_any_address), "multiplying");
}

std::size_t Product::workspace_bytes() const {
  const std::size_t anywhere = state_->at_any_address ? state_->at_any_address->workspaceSize : 0;
  return std::max(state_->chosen.workspaceSize, anywhere) + workspace_alignment;
}

DType Product::operand() const {
  return state_->shape.a.dtype;
}

std::string Product::description() const {
  return fmt::format("{}; {}", words_of(state_->chosen.algo), state_->chosen_how);
}

}  // namespace assay::cuda
