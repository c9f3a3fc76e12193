#include "kernels/verdict.h"
#include "kernels/experts.h"

#include <fmt/format.h>

#include <algorithm>

namespace assay {
namespace {

/// Below it a dtype costs speed for what it saves in memory.
constexpr double native_ratio = 0.9;

double f32_gflops(const MachineFacts& facts) {
  const MatmulPeak* f32 = facts.peak(DType::f32);
  return f32 != nullptr ? f32->matmul_gflops : 0;
}

/// The fastest measured rate for which `wanted` holds; null where there is none.
template <typename Wanted>
const MatmulRate* fastest(DType operand, const MachineFacts& facts, Wanted&& wanted) {
  const MatmulPeak* peak = facts.peak(operand);
  if (peak == nullptr) return nullptr;
  const MatmulRate* best = nullptr;
  for (const MatmulRate& rate : peak->rates) {
    if (wanted(rate) && (best == nullptr || rate.gflops > best->gflops)) best = &rate;
  }
  return best;
}

/// "380 GFLOP/s (360 with cold weights), 1.90x fp32".
std::string rate_words(const MatmulRate& rate, const MachineFacts& facts) {
  const double f32 = f32_gflops(facts);
  std::string words = fmt::format("{:.0f} GFLOP/s", rate.gflops);
  if (rate.streaming_gflops > 0) words += fmt::format(" ({:.0f} with cold weights)", rate.streaming_gflops);
  if (f32 > 0) words += fmt::format(", {:.2f}x fp32", rate.gflops / f32);
  return words;
}

/// What is known of the kernel's speed.
struct Speed {
  double ratio = 0;  ///< To f32's best matmul; 0: not known.
  std::string words;
};

/// Of products that add in f16: the matmuls that are timed add in f32, and say nothing of them.
Speed instruction_speed(const MatmulPeak& peak, const MachineFacts& facts) {
  const MatmulPeak* f32 = facts.peak(DType::f32);
  const double of_f32 = f32 != nullptr ? f32->instruction_gflops : 0;
  std::string words = fmt::format("its instruction, adding in {}, measured at {:.0f} GFLOP/s", name(peak.operand),
                                  peak.instruction_gflops);
  if (of_f32 <= 0) return {0, words};
  const double ratio = peak.instruction_gflops / of_f32;
  return {ratio, words + fmt::format(", {:.2f}x fp32's", ratio)};
}

Speed speed_of(const Products& products, const MachineFacts& facts) {
  const MatmulPeak* peak = facts.peak(products.computed);
  if (products.accumulator == DType::f16 && peak != nullptr && peak->instruction_gflops > 0)
    return instruction_speed(*peak, facts);
  const double f32 = f32_gflops(facts);
  const auto ratio = [&](const MatmulRate& rate) { return f32 > 0 ? rate.gflops / f32 : 0; };
  const auto is_own = [&](const MatmulRate& rate) { return rate.key == products.kernel; };
  if (const MatmulRate* own = fastest(products.asked, facts, is_own)) {
    return {ratio(*own), "matmul measured at " + rate_words(*own, facts)};
  }
  const auto is_alike = [&](const MatmulRate& rate) { return rate.computed == products.computed; };
  const MatmulRate* best = fastest(products.asked, facts, is_alike);
  if (best == nullptr) return {0, "not measured"};
  return {ratio(*best), fmt::format("best matmul measured in this dtype: {} by {}", rate_words(*best, facts),
                                    best->key.implementation)};
}

ProductVerdict judge_without_instruction(const Products& products, const MachineFacts& facts) {
  const std::string where = facts.gpu ? fmt::format("at compute capability {}", to_string(facts.gpu->capability))
                            : facts.cap.empty() ? "on this processor"
                                                : fmt::format("under the cap '{}'", facts.cap);
  const char* how = products.arithmetic == Arithmetic::scalar_loops ? "plain loops"
                    : products.computed == products.asked           ? "other instructions"
                                                                    : name(products.computed);
  return {Verdict::emulated, fmt::format("no {} product instruction {}; computed in {}: {}", name(products.asked),
                                         where, how, speed_of(products, facts).words)};
}

ProductVerdict judge_loops(const Products& products, const char* set) {
  const bool keeps_dtype = products.computed == products.asked || products.asked == DType::f32;
  return {keeps_dtype ? Verdict::slow : Verdict::emulated,
          fmt::format("plain loops in {}; {} is not used", name(products.computed), set)};
}

/// Another dtype multiplies although the instruction is there.
ProductVerdict judge_widened(const Products& products, const char* set, const MachineFacts& facts) {
  const auto is_native = [&](const MatmulRate& rate) {
    return rate.computed == products.asked && rate.arithmetic == Arithmetic::instructions;
  };
  const MatmulRate* native = fastest(products.asked, facts, is_native);
  const std::string left =
      native != nullptr ? "its matmul was measured at " + rate_words(*native, facts) : "no matmul of ours uses it";
  return {Verdict::widened, fmt::format("{}: {}; computed in {}: {}", set, left, name(products.computed),
                                        speed_of(products, facts).words)};
}

}  // namespace

const char* instruction_set(DType operand, const MachineFacts& facts) {
  if (facts.gpu) return gpu_products(operand, facts.gpu->capability).instruction;
  const InstructionSets& isa = facts.isa;
  switch (operand) {
    case DType::f32:
      return isa.avx512 ? "avx512" : isa.avx2 ? "avx2" : "sse";
    case DType::bf16:
      return isa.amx_bf16 ? "amx_bf16" : isa.avx512_bf16 ? "avx512_bf16" : nullptr;
    case DType::f16:
      return isa.avx512_fp16 ? "avx512_fp16" : nullptr;
    case DType::s8:
      // Of AVX2 it is vpmaddubsw or vpmaddwd: pairs of products.
      return isa.amx_int8      ? "amx_int8"
             : isa.avx512_vnni ? "avx512_vnni"
             : isa.avx_vnni    ? "avx_vnni"
             : isa.avx2        ? "avx2"
                               : nullptr;
    default:
      return nullptr;
  }
}

ProductVerdict verdict_of(const Products& products, const MachineFacts& facts) {
  const char* set = instruction_set(products.asked, facts);
  if (set == nullptr) return judge_without_instruction(products, facts);
  if (products.arithmetic == Arithmetic::scalar_loops) return judge_loops(products, set);
  if (products.computed != products.asked) return judge_widened(products, set, facts);
  const Speed speed = speed_of(products, facts);
  const bool is_crippled =
      facts.gpu && gpu_products(products.computed, facts.gpu->capability).unit == GpuProducts::Unit::crippled;
  const bool is_measured_slow = products.asked != DType::f32 && speed.ratio > 0 && speed.ratio < native_ratio;
  const bool is_slow = is_crippled || is_measured_slow;
  return {is_slow ? Verdict::slow : Verdict::native, fmt::format("{}; {}", set, speed.words)};
}

ProductVerdict verdict_of_dtype(DType operand, const MachineFacts& facts) {
  const MatmulPeak* peak = facts.peak(operand);
  if (peak == nullptr || peak->rates.empty()) {
    return {Verdict::unsupported, fmt::format("no kernel multiplies {}", name(operand))};
  }
  const MatmulRate& first = peak->rates.front();
  return verdict_of({operand, first.computed, first.arithmetic, first.key}, facts);
}

void set_verdicts(MachineFacts& facts) {
  for (MatmulPeak& peak : facts.peaks) {
    const ProductVerdict found = verdict_of_dtype(peak.operand, facts);
    peak.verdict = found.verdict;
    peak.evidence = found.evidence;
  }
}

bool instruction_pays(DType operand, const MachineFacts& facts) {
  if (instruction_set(operand, facts) == nullptr) return false;
  const auto is_native = [&](const MatmulRate& rate) { return rate.computed == operand; };
  const auto is_widened = [&](const MatmulRate& rate) { return rate.computed == DType::f32; };
  const MatmulRate* native = fastest(operand, facts, is_native);
  const MatmulRate* widened = fastest(operand, facts, is_widened);
  return native == nullptr || widened == nullptr || native->gflops >= widened->gflops;
}

bool is_product(const Call& call) {
  if (call.operation == &op::expert_quantized_linear) return true;
  return call.operation->autocast == Autocast::low_precision || call.operation == &op::quantized_linear;
}

DType asked_operand(const Call& call) {
  if (expert_places(*call.operation)) return asked_operand(product_of(call));
  if (call.operation == &op::quantized_linear || call.operation == &op::quantized_block_linear) return call.in(0).dtype;
  const DType rounded_to = call.attributes.operand;
  DType operand = call.in(0).dtype;
  if (call.operation == &op::linear) {
    operand = call.in(1).dtype;
    if (size_of(rounded_to) < size_of(operand)) operand = rounded_to;
  }
  const auto is_tf32 = [](DType dtype) { return dtype == DType::tf32; };
  const bool beside_tf32 = is_tf32(call.in(0).dtype) || is_tf32(call.in(1).dtype) || is_tf32(rounded_to);
  return operand == DType::f32 && beside_tf32 ? DType::tf32 : operand;
}

}  // namespace assay
