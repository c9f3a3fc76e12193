#include <algorithm>

#include "results/rule_tables.h"

namespace assay {
namespace {

/// What measuring a peak may fall short of the true one.
constexpr double tolerance = 1.05;
Judgement says_duration(const Cell&, const Record& row) {
  const auto wrong = std::find_if(row.raw_ms.begin(), row.raw_ms.end(), [](double ms) { return !(ms > 0); });
  if (wrong == row.raw_ms.end()) return {};
  return {fmt::format("a sample lasts {} ms", *wrong), {}};
}

Judgement says_instruction_peak(const Cell&, const Record& row) {
  if (are_peaks_busy(row) || !row.instruction_ms || row.median_ms.value_or(0) <= 0) return {};
  if (*row.instruction_ms <= tolerance * *row.median_ms) return {};
  return {fmt::format("{} is {} the rate that its instructions reach without memory: they alone take {} ms for its "
                      "matrix products",
                      milliseconds(row), times(*row.instruction_ms / *row.median_ms),
                      format_significant(*row.instruction_ms)),
          {}};
}

Judgement says_bandwidth(const Cell&, const Record& row) {
  if (!row.weight_bytes_read || !row.cache_bytes || !row.median_ms) return {};
  if (are_peaks_busy(row) || row.bandwidth_bytes_per_s.value_or(0) <= 0) return {};
  // What the caches can hold from one pass to the next need not come from memory; the rest must.
  const double from_memory = std::max(0.0, *row.weight_bytes_read - *row.cache_bytes);
  const double rate = from_memory / (*row.median_ms * 1e-3);
  if (rate <= tolerance * *row.bandwidth_bytes_per_s) return {};
  return {fmt::format("its weights beyond the caches would have come from memory at {}/s; {}/s was measured here",
                      format_bytes(rate), format_bytes(*row.bandwidth_bytes_per_s)),
          {}};
}

Judgement says_power(const Cell&, const Record& row) {
  if (!row.power_w || !row.power_limit_w || *row.power_w <= *row.power_limit_w) return {};
  return {fmt::format("{} W is above the limit of {} W", format_significant(*row.power_w),
                      format_significant(*row.power_limit_w)),
          {}};
}

Judgement says_size(const Cell& cell, const Record& row) {
  const Precision* precision = precision_row(row);
  if (!cell.baseline || !precision || is_overridden(row) || size_of(precision->weights) != 2) return {};
  if (!row.model_bytes || !cell.baseline->model_bytes || *row.model_bytes <= *cell.baseline->model_bytes) return {};
  const Precision* base = precision_row(*cell.baseline);
  if (!base || size_of(base->weights) != 4) return {};
  return {fmt::format("a 16-bit model of {} is larger than {}'s {}", megabytes(static_cast<double>(*row.model_bytes)),
                      cell.baseline->precision, megabytes(static_cast<double>(*cell.baseline->model_bytes))),
          {}};
}

constexpr auto gate = RuleKind::gate;
constexpr auto row = RuleScope::row;

constexpr Rule gates[] = {
    {"negative_duration", gate, 'D', row, "raw_ms", "A sample lasts no time, or less.", says_duration},
    {"instruction_peak", gate, 'D', row, "median_ms, instruction_ms, peaks_measured_share",
     "Faster than 1.05x what each matrix product's operands reach in an instruction from registers, row by row of the "
     "ledger.",
     says_instruction_peak},
    {"bandwidth", gate, 'D', row, "weight_bytes_read, cache_bytes, bandwidth_bytes_per_s, median_ms",
     "Weights beyond the last-level cache read at above 1.05x the measured bandwidth.", says_bandwidth},
    {"power_limit", gate, 'D', row, "power_w, power_limit_w", "Power above the limit of the board.", says_power},
    {"size_16_bit", gate, 'D', row, "model_bytes of the row and of the baseline",
     "A 16-bit model larger than its 32-bit one; not asked of overrides by role.", says_size},
};

}  // namespace

std::span<const Rule> gate_rules() {
  return gates;
}

}  // namespace assay
