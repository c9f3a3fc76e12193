#include "hardware/peaks.h"

#include <algorithm>

#include "base/clock.h"
#include "hardware/concurrent_rate.h"
#include "hardware/peak_loops.h"

namespace assay {
namespace {

constexpr double loop_budget_s = 0.1;
constexpr double window_s = 0.001;
// The loops of a dtype go from narrow to wide; where both run at one rate (AVX2 and AVX-512 on Zen 4) chance must not
// choose the name, so a wider one wins unless it is clearly slower.
constexpr double clear_gain = 0.97;

double best_of_three_s(const PeakLoop& loop, std::int64_t rounds) {
  double best_s = 1e9;
  for (int i = 0; i < 3; ++i) {
    const double begin_s = now_s();
    loop.run(rounds);
    best_s = std::min(best_s, now_s() - begin_s);
  }
  return best_s;
}

std::int64_t rounds_for_window(const PeakLoop& loop) {
  std::int64_t rounds = 256;
  double seconds = best_of_three_s(loop, rounds);
  while (seconds < window_s / 4) {
    rounds *= 2;
    seconds = best_of_three_s(loop, rounds);
  }
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(static_cast<double>(rounds) * window_s / seconds));
}

double measure_gflops(const PeakLoop& loop, int threads) {
  const std::int64_t rounds = rounds_for_window(loop);
  const double operations = loop.operations_per_round * static_cast<double>(rounds);
  const Window window = [&](int) {
    loop.run(rounds);
    return operations;
  };
  return concurrent_rate(threads, loop_budget_s, window) * 1e-9;
}

InstructionPeak best_of(DType operand, const InstructionSets& isa, int threads) {
  InstructionPeak best{.operand = operand, .set = {}, .instruction = {}};
  for (const PeakLoop& loop : peak_loops()) {
    if (loop.operand != operand || (loop.needs && !(isa.*loop.needs))) continue;
    const double gflops = measure_gflops(loop, threads);
    if (gflops > best.gflops * clear_gain) best = {operand, loop.set, loop.instruction, gflops};
  }
  return best;
}

}  // namespace

std::vector<InstructionPeak> measure_instruction_peaks(const InstructionSets& isa, int threads) {
  std::vector<InstructionPeak> peaks;
  for (const DType operand : {DType::f32, DType::f16, DType::bf16, DType::s8}) {
    peaks.push_back(best_of(operand, isa, threads));
  }
  return peaks;
}

}  // namespace assay
