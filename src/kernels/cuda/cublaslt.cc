#include "kernels/cuda/cublaslt.h"

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "base/error.h"
#include "kernels/cuda/cublaslt_problem.h"
#include "kernels/cuda/gpu.h"

namespace assay::cuda {
namespace {

constexpr int most_candidates = 8;
constexpr int timed_runs = 5;
constexpr std::size_t workspace_alignment = 256;

std::int64_t span_bytes(const Matrix& matrix, int batches) {
  const std::int64_t one = matrix.stride * matrix.columns;
  return (one + matrix.batch_stride * (batches - 1)) * static_cast<std::int64_t>(size_of(matrix.dtype));
}

}  // namespace

struct Product::State {
  ProductShape shape;
  Description description;
  Layout a, b, onto, c;
  cublasLtMatmulHeuristicResult_t chosen = {};
  int proposed = 0;

  void run(const ProductMemory& memory, const cublasLtMatmulHeuristicResult_t& algorithm) const {
    if (shape.has_bias) set(description.get(), CUBLASLT_MATMUL_DESC_BIAS_POINTER, memory.bias);
    const bool whole = shape.a.dtype == DType::s8;
    const std::int32_t one = 1;
    const auto zero = static_cast<std::int32_t>(shape.beta);
    const void* alpha = whole ? static_cast<const void*>(&one) : &shape.alpha;
    const void* beta = whole ? static_cast<const void*>(&zero) : &shape.beta;
    const std::byte* added = memory.onto != nullptr ? memory.onto : memory.c;
    check(cublaslt().matmul(cublaslt().handle, description.get(), alpha, memory.a, a.get(), memory.b, b.get(), beta,
                            added, onto.get(), memory.c, c.get(), &algorithm.algo, memory.workspace,
                            algorithm.workspaceSize, stream()),
          "multiplying");
  }
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
        workspace_(allocate_on(gpu(), most_workspace)) {}
  ProductMemory memory() const { return {a_.get(), b_.get(), c_.get(), nullptr, bias_.get(), workspace_.get()}; }

 private:
  static DeviceBytes cleared(std::int64_t bytes) {
    DeviceBytes memory = allocate_on(gpu(), static_cast<std::size_t>(bytes));
    gpu().clear(memory.get(), static_cast<std::size_t>(bytes));
    return memory;
  }
  DeviceBytes a_, b_, c_, bias_, workspace_;
};

void destroy_event(cudaEvent_t event) {
  cudaEventDestroy(event);
}
using Event = Handle<cudaEvent_t, destroy_event>;

Event make_event() {
  cudaEvent_t event = nullptr;
  check(cudaEventCreate(&event), "making an event");
  return Event(event);
}

/// Milliseconds of some runs, the first one not counted.
template <typename Run>
float time_of(const Run& run) {
  const Event begin = make_event();
  const Event end = make_event();
  run();
  check(cudaEventRecord(begin.get(), stream()), "recording an event");
  for (int i = 0; i < timed_runs; ++i) run();
  check(cudaEventRecord(end.get(), stream()), "recording an event");
  check(cudaEventSynchronize(end.get()), "waiting for an event");
  float ms = 0;
  check(cudaEventElapsedTime(&ms, begin.get(), end.get()), "reading events");
  return ms;
}

using Algorithms = std::vector<cublasLtMatmulHeuristicResult_t>;

/// Which one was fastest for shapes of that key, in this process.
std::map<std::string, cublasLtMatmulHeuristicResult_t>& measured() {
  static std::map<std::string, cublasLtMatmulHeuristicResult_t> choices;
  return choices;
}

}  // namespace

Product::Product(std::unique_ptr<State> state) : state_(std::move(state)) {}
Product::~Product() = default;

std::variant<std::shared_ptr<const Product>, Declined> Product::make(const ProductShape& shape) {
  auto state = std::make_unique<State>();
  try {
    cublaslt();
  } catch (const Error& error) {
    return Declined{error.what()};
  }
  state->shape = shape;
  state->description = description_of(shape);
  state->a = layout_of(shape.a, shape.a.stride, shape.batches);
  state->b = layout_of(shape.b, shape.b.stride, shape.batches);
  state->c = layout_of(shape.c, shape.c.stride, shape.batches);
  state->onto = layout_of(shape.c, shape.beta != 0 ? shape.onto_stride : shape.c.stride, shape.batches);
  Algorithms found(most_candidates);
  const Preference preference = preference_of(shape);
  const cublasStatus_t status = cublaslt().heuristic(cublaslt().handle, state->description.get(), state->a.get(),
                                                     state->b.get(), state->onto.get(), state->c.get(),
                                                     preference.get(), most_candidates, found.data(), &state->proposed);
  if (status != CUBLAS_STATUS_SUCCESS || state->proposed == 0)
    return Declined{fmt::format("cuBLASLt proposes nothing for {} (status {})", shape.key(), static_cast<int>(status))};
  found.resize(static_cast<std::size_t>(state->proposed));
  const auto known = measured().find(shape.key());
  if (known != measured().end()) {
    state->chosen = known->second;
    return std::shared_ptr<const Product>(new Product(std::move(state)));
  }
  state->chosen = found.front();
  float best_ms = 0;
  std::optional<Scratch> scratch;
  try {
    scratch.emplace(shape);
  } catch (const OutOfMemory&) {  // Nothing to time it in: the heuristic's first.
    return std::shared_ptr<const Product>(new Product(std::move(state)));
  }
  for (const cublasLtMatmulHeuristicResult_t& one : found) {
    const float ms = time_of([&] { state->run(scratch->memory(), one); });
    if (best_ms > 0 && ms >= best_ms) continue;
    best_ms = ms;
    state->chosen = one;
  }
  measured()[shape.key()] = state->chosen;
  return std::shared_ptr<const Product>(new Product(std::move(state)));
}

void Product::run(const ProductMemory& asked) const {
  ProductMemory memory = asked;
  const auto behind = reinterpret_cast<std::uintptr_t>(memory.workspace) % workspace_alignment;
  if (behind != 0) memory.workspace += workspace_alignment - behind;
  const auto fits = [](const std::byte* address, const Matrix& matrix) {
    return reinterpret_cast<std::uintptr_t>(address) % alignment_of(matrix) == 0;
  };
  ASSAY_ASSERT(fits(memory.a, state_->shape.a) && fits(memory.b, state_->shape.b) && fits(memory.c, state_->shape.c));
  state_->run(memory, state_->chosen);
}

std::size_t Product::workspace_bytes() const {
  return state_->chosen.workspaceSize + workspace_alignment;
}

std::string Product::description() const {
  return fmt::format("{}; fastest of {}", words_of(state_->chosen.algo), state_->proposed);
}

bool Product::uses_tensor_cores() const {
  return (flags_of(state_->chosen.algo) & CUBLASLT_NUMERICAL_IMPL_FLAGS_TENSOR_OP_MASK) != 0;
}

DType accumulator_of(DType operand) {
  return operand == DType::s8 ? DType::s32 : DType::f32;
}

}  // namespace assay::cuda
