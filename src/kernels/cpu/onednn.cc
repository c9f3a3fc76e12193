#include "kernels/cpu/onednn.h"

#include <omp.h>

#include <array>
#include <oneapi/dnnl/dnnl.hpp>

#include "base/error.h"
#include "base/threads.h"

namespace assay::cpu {
namespace {

using dnnl::memory;

/// Runs its scope with that many OpenMP threads: oneDNN takes the number from the runtime.
class ThreadScope {
 public:
  explicit ThreadScope(int threads) : before_(omp_get_max_threads()) { omp_set_num_threads(threads); }
  ~ThreadScope() { omp_set_num_threads(before_); }
  ThreadScope(const ThreadScope&) = delete;
  ThreadScope& operator=(const ThreadScope&) = delete;

 private:
  int before_;
};

dnnl::engine& engine() {
  static dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  return cpu;
}

/// The highest of oneDNN's instruction sets that holds nothing which the facts lack.
dnnl::cpu_isa allowed_isa(const InstructionSets& isa) {
  if (!isa.avx2) return dnnl::cpu_isa::sse41;
  if (!isa.avx512) return isa.avx_vnni ? dnnl::cpu_isa::avx2_vnni : dnnl::cpu_isa::avx2;
  if (!isa.avx512_vnni) return dnnl::cpu_isa::avx512_core;
  if (!isa.avx512_bf16) return dnnl::cpu_isa::avx512_core_vnni;
  if (!isa.avx512_fp16) return dnnl::cpu_isa::avx512_core_bf16;
  if (!isa.amx_bf16 || !isa.amx_int8) return dnnl::cpu_isa::avx512_core_fp16;
  return dnnl::cpu_isa::avx512_core_amx;
}

/// Whether oneDNN keeps to what the facts allow. Its limit can be set once a process, before its first use; it was set
/// higher where a process looks at several caps.
bool keeps_to(const InstructionSets& isa) {
  const dnnl::cpu_isa allowed = allowed_isa(isa);
  dnnl_set_max_cpu_isa(static_cast<dnnl_cpu_isa_t>(allowed));
  const auto effective = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  return (effective & ~static_cast<unsigned>(allowed)) == 0;
}

std::optional<memory::data_type> data_type(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return memory::data_type::f32;
    case DType::f16:
      return memory::data_type::f16;
    case DType::bf16:
      return memory::data_type::bf16;
    default:
      return std::nullopt;
  }
}

std::optional<memory::format_tag> panel_tag(const Packing& packing) {
  if (packing.width == 32 && packing.group == 1) return memory::format_tag::BA16a32b;
  if (packing.width == 32 && packing.group == 2) return memory::format_tag::BA16a32b2a;
  return std::nullopt;
}

void append_activation(dnnl::post_ops& operations, Activation activation) {
  switch (activation) {
    case Activation::none:
    case Activation::relu:  // oneDNN's makes 0 of NaN: see rectify.
      return;
    case Activation::gelu_erf:
      return operations.append_eltwise(dnnl::algorithm::eltwise_gelu_erf, 0.0F, 0.0F);
    case Activation::gelu_tanh:
      return operations.append_eltwise(dnnl::algorithm::eltwise_gelu_tanh, 0.0F, 0.0F);
    case Activation::silu:
      return operations.append_eltwise(dnnl::algorithm::eltwise_swish, 1.0F, 0.0F);
    case Activation::tanh:
      return operations.append_eltwise(dnnl::algorithm::eltwise_tanh, 0.0F, 0.0F);
  }
}

/// y = 0 where y < 0, by its bits; NaN stays NaN.
template <typename Bits>
void rectify(const LinearCall& call, std::byte* y, Bits infinity) {
  constexpr Bits sign = static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1));
  const ThreadScope scope(call.threads);
  parallel_for(call.rows, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      Bits* values = reinterpret_cast<Bits*>(y) + row * call.y_stride;
      for (std::int64_t i = 0; i < call.out; ++i) {
        const bool is_negative = values[i] >= sign && values[i] <= static_cast<Bits>(sign | infinity);
        if (is_negative) values[i] = 0;
      }
    }
  });
}

void rectify(const LinearCall& call, std::byte* y) {
  if (call.y == DType::f32) return rectify<std::uint32_t>(call, y, 0x7f800000);
  rectify<std::uint16_t>(call, y, call.y == DType::f16 ? 0x7c00 : 0x7f80);
}

struct Layouts {
  memory::desc x;
  memory::desc weight;
  memory::desc bias;  ///< Zero where there is none.
  memory::desc y;
};

Layouts layouts(const LinearCall& call, const Packing& packing) {
  const memory::dims weight_dims = {call.in, call.out};
  Layouts result;
  result.x = memory::desc({call.rows, call.in}, *data_type(call.x), memory::dims{call.x_stride, 1});
  result.weight = packing.kind == Packing::Kind::plain
                      ? memory::desc(weight_dims, *data_type(call.weight), memory::dims{1, call.in})
                      : memory::desc(weight_dims, *data_type(call.weight), *panel_tag(packing));
  if (call.has_bias) result.bias = memory::desc({1, call.out}, *data_type(call.bias), memory::dims{call.out, 1});
  result.y = memory::desc({call.rows, call.out}, *data_type(call.y), memory::dims{call.y_stride, 1});
  return result;
}

dnnl::matmul::primitive_desc describe(const LinearCall& call, const Layouts& layouts) {
  dnnl::post_ops operations;
  append_activation(operations, call.activation);
  dnnl::primitive_attr attributes;
  attributes.set_post_ops(operations);
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  attributes.set_fpmath_mode(dnnl::fpmath_mode::strict);
  if (!call.has_bias) return {engine(), layouts.x, layouts.weight, layouts.y, attributes};
  return {engine(), layouts.x, layouts.weight, layouts.bias, layouts.y, attributes};
}

/// oneDNN takes memory of its own, for code above all. Without it no other kernel should take over in silence.
void refuse_out_of_memory(dnnl_status_t status) {
  if (status == dnnl_out_of_memory) throw OutOfMemory("memory: the system refused oneDNN an allocation", 0, 0);
}

/// A primitive with its memory objects, whose pointers are set before each run.
class OneDnnMatmul final : public Kernel {
 public:
  OneDnnMatmul(const LinearCall& call, const dnnl::matmul::primitive_desc& description)
      : call_(call), primitive_(description), stream_(engine()) {
    const memory::desc bias = call.has_bias ? description.bias_desc() : memory::desc();
    const memory::desc of[] = {description.src_desc(), description.weights_desc(), bias, description.dst_desc(),
                               description.scratchpad_desc()};
    for (std::size_t i = 0; i < memories_.size(); ++i) {
      memories_[i] = memory(of[i], engine(), nullptr);
      arguments_[i] = {ids[i], memories_[i].get()};
    }
  }

  void run(const Memory& run_memory) const override {
    const LinearMemory tensors = linear_memory(call_, run_memory);
    const void* const pointers[] = {tensors.x, tensors.weight, tensors.bias, tensors.y, tensors.workspace};
    for (std::size_t i = 0; i < memories_.size(); ++i) memories_[i].set_data_handle(const_cast<void*>(pointers[i]));
    const ThreadScope scope(call_.threads);
    const int count = static_cast<int>(arguments_.size());
    const dnnl_status_t status = dnnl_primitive_execute(primitive_.get(), stream_.get(), count, arguments_.data());
    refuse_out_of_memory(status);
    ASSAY_ASSERT(status == dnnl_success);
    if (call_.activation == Activation::relu) rectify(call_, tensors.y);
  }

 private:
  static constexpr std::array<int, 5> ids = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_BIAS, DNNL_ARG_DST,
                                             DNNL_ARG_SCRATCHPAD};

  LinearCall call_;
  dnnl::matmul primitive_;
  dnnl::stream stream_;
  std::array<memory, 5> memories_;
  std::array<dnnl_exec_arg_t, 5> arguments_{};
};

const char* unusable(const LinearCall& call, const Packing& packing) {
  if (!data_type(call.x) || call.x != call.weight) return "operands of such dtypes are not handed to oneDNN";
  if (!data_type(call.y) || (call.has_bias && !data_type(call.bias))) return "oneDNN has no such output or bias";
  if (call.accumulator != DType::f32) return "oneDNN adds in f32";
  if (call.rows == 0 || call.in == 0 || call.out == 0) return "nothing to multiply";
  const bool panels = packing.kind == Packing::Kind::panels;
  if (panels && (!panel_tag(packing) || call.in % (16 * packing.group) != 0)) return "oneDNN cannot read these panels";
  if (panels && !call.constant_weight) return "the weight changes between calls and is not packed";
  if (call.packing.kind != Packing::Kind::plain && call.packing != packing) return "the weight is packed otherwise";
  return nullptr;
}

}  // namespace

Packing onednn_panels(DType dtype, std::int64_t in) {
  const std::int32_t group = static_cast<std::int32_t>(4 / size_of(dtype));
  if (in % (16 * group) != 0) return {.kind = Packing::Kind::plain, .dtype = dtype};
  return {.kind = Packing::Kind::panels, .dtype = dtype, .width = 32, .group = group};
}

Offer prepare_onednn(const LinearCall& call, const MachineFacts& facts, const Packing& packing) {
  if (const char* why = unusable(call, packing)) return Declined{why};
  if (!keeps_to(facts.isa)) return Declined{"oneDNN was opened with wider instruction sets than are allowed now"};
  const ThreadScope scope(call.threads);
  try {
    const dnnl::matmul::primitive_desc description = describe(call, layouts(call, packing));
    const std::string code = description.impl_info_str();
    if (code.starts_with("ref")) return Declined{"oneDNN has only its plain loops (" + code + ")"};
    Prepared prepared;
    prepared.brings_threads = true;
    prepared.workspace_bytes = description.scratchpad_desc().get_size();
    prepared.kernel = std::make_unique<OneDnnMatmul>(call, description);
    prepared.description = "oneDNN " + code + ", " + to_string(packing) + " weights";
    prepared.operand = call.weight;
    prepared.packing.resize(static_cast<std::size_t>(call.places.weight) + 1);
    prepared.packing.back() = packing;
    return prepared;
  } catch (const dnnl::error& error) {
    refuse_out_of_memory(error.status);
    return Declined{std::string("oneDNN: ") + error.what()};
  }
}

}  // namespace assay::cpu
