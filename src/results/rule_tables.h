#pragma once

#include <fmt/format.h>

#include <span>
#include <string>

#include "base/units.h"
#include "results/rules.h"
#include "tensor/precision.h"

namespace assay {

// The parts of the table of rules, and what their sentences share. Only for src/results.
std::span<const Rule> gate_rules();
std::span<const Rule> trust_rules();
std::span<const Rule> finding_rules();
std::span<const Rule> expectation_rules();

/// The row of the precision table behind "bf16[softmax=f32]"; null for a name that is not in it (a peer).
const Precision* precision_row(const Record& record);
/// Whether quality equals the baseline's within noise: change of log-perplexity within two standard errors, or
/// McNemar's p above 0.05. Absent where neither was measured.
std::optional<bool> is_quality_equal(const Record& record);
/// Rate of the row's matmul over the baseline's; absent where not both were measured.
std::optional<double> matmul_ratio(const Record& record);
/// Whether two measured rows' intervals of the median overlap, or one has none.
bool is_tie(const Record& a, const Record& b);

inline std::string percent(double share) {
  return format_significant(100 * share) + " %";
}
inline std::string times(double ratio) {
  return format_significant(ratio) + "x";
}
inline std::string megabytes(double bytes) {
  return format_significant(bytes / 1e6) + " MB";
}
inline std::string milliseconds(const Record& record) {
  return format_significant(record.median_ms.value_or(0)) + " ms";
}

}  // namespace assay
