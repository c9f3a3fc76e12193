#include "kernels/cpu/verdict.h"

#include <fmt/format.h>

namespace assay::cpu {
namespace {

/// The instruction set that multiplies the dtype here; null where none does.
const char* instruction(DType operand, const InstructionSets& isa) {
  switch (operand) {
    case DType::f32:
      return isa.avx512 ? "avx512" : isa.avx2 ? "avx2" : "sse";
    case DType::bf16:
      return isa.amx_bf16 ? "amx_bf16" : isa.avx512_bf16 ? "avx512_bf16" : nullptr;
    case DType::f16:
      return isa.avx512_fp16 ? "avx512_fp16" : nullptr;
    case DType::s8:
      return isa.amx_int8 ? "amx_int8" : isa.avx512_vnni ? "avx512_vnni" : nullptr;
    default:
      return nullptr;
  }
}

/// How the instruction compares with f32's; 0 where that was not measured.
double measured_ratio(DType operand, const MachineFacts& facts) {
  const MatmulPeak* own = facts.peak(operand);
  const MatmulPeak* f32 = facts.peak(DType::f32);
  if (own == nullptr || f32 == nullptr || f32->instruction_gflops <= 0) return 0;
  return own->instruction_gflops / f32->instruction_gflops;
}

}  // namespace

bool bf16_instruction_pays(const MachineFacts& facts) {
  if (facts.isa.amx_bf16) return true;
  if (!facts.isa.avx512_bf16) return false;
  const double ratio = measured_ratio(DType::bf16, facts);
  return ratio == 0 || ratio >= 0.9;
}

Judgement judge(DType operand, const MachineFacts& facts) {
  const MatmulPeak* peak = facts.peak(operand);
  if (peak != nullptr && peak->verdict != Verdict::unsupported) return {peak->verdict, peak->evidence};
  if (const char* name = instruction(operand, facts.isa)) return {Verdict::native, name};
  return {Verdict::emulated, fmt::format("no {} multiplication among {}", name(operand), "the instruction sets here")};
}

Judgement judge_widened(DType stored, const MachineFacts& facts) {
  const char* const own = instruction(stored, facts.isa);
  if (own == nullptr && stored == DType::bf16) {
    return {Verdict::emulated, "no bf16 multiplication here; products in f32"};
  }
  if (own == nullptr)
    return {Verdict::widened, fmt::format("no {} multiplication here; products in f32", name(stored))};
  const double ratio = measured_ratio(stored, facts);
  if (ratio == 0) return {Verdict::widened, fmt::format("{} is there but adds in {}", own, name(stored))};
  return {Verdict::widened, fmt::format("the {} instruction runs at {:.2f}x fp32; products in f32", own, ratio)};
}

}  // namespace assay::cpu
