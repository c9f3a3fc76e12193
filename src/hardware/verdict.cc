#include "hardware/verdict.h"

#include <fmt/format.h>

namespace assay {
namespace {

constexpr double native_ratio = 0.9;  // Design: below it a dtype costs speed for what it saves in memory.

double ratio(double gflops, double fp32_gflops) {
  return fp32_gflops > 0 ? gflops / fp32_gflops : 0;
}

std::string missing_instruction(const MatmulEvidence& found) {
  const std::string where = found.cap.empty() ? "on this processor" : fmt::format("under the cap '{}'", found.cap);
  return fmt::format("no {} product instruction {}", name(found.operand), where);
}

Judgement judge_without_instruction(const MatmulEvidence& found) {
  const char* how = found.computed == found.operand ? "other instructions" : name(found.computed);
  const std::string rate =
      fmt::format("its matmul runs in {} at {:.0f} GFLOP/s, {:.2f}x fp32 ({})", how, found.matmul_gflops,
                  ratio(found.matmul_gflops, found.fp32_gflops), found.kernel);
  return {Verdict::emulated, missing_instruction(found) + "; " + rate};
}

/// The sentence about a matmul that was not taken, or its absence.
std::string native_part(const MatmulEvidence& found) {
  const double peak_ratio = ratio(found.instruction_gflops, found.fp32_gflops);
  if (found.native_gflops <= 0) {
    return fmt::format("{} peaks at {:.0f} GFLOP/s, no matmul of ours uses it", found.set, found.instruction_gflops);
  }
  return fmt::format(
      "the {} instruction peaks at {:.0f} GFLOP/s ({:.2f}x fp32's matmul), its matmul runs at {:.2f}x fp32", found.set,
      found.instruction_gflops, peak_ratio, ratio(found.native_gflops, found.fp32_gflops));
}

Judgement judge_with_instruction(const MatmulEvidence& found) {
  const double speed = ratio(found.matmul_gflops, found.fp32_gflops);
  if (found.computed != found.operand) {
    return {Verdict::widened, fmt::format("{}; computed in {} at {:.2f}x fp32 ({})", native_part(found),
                                          name(found.computed), speed, found.kernel)};
  }
  return {speed >= native_ratio ? Verdict::native : Verdict::slow,
          fmt::format("{}; matmul {:.0f} GFLOP/s, {:.2f}x fp32, {:.0f} % of the instruction's peak ({})", found.set,
                      found.matmul_gflops, speed, 100 * ratio(found.matmul_gflops, found.instruction_gflops),
                      found.kernel)};
}

}  // namespace

Judgement judge(const MatmulEvidence& found) {
  if (found.matmul_gflops <= 0) {
    const std::string instruction = found.set.empty() ? missing_instruction(found) : found.set + " is there";
    return {Verdict::unsupported, fmt::format("no kernel multiplies {}; {}", name(found.operand), instruction)};
  }
  if (found.operand == DType::f32) {
    return {Verdict::native, fmt::format("{}; matmul {:.0f} GFLOP/s, the reference of every ratio ({})", found.set,
                                         found.matmul_gflops, found.kernel)};
  }
  return found.set.empty() ? judge_without_instruction(found) : judge_with_instruction(found);
}

}  // namespace assay
