#pragma once

#include <fmt/format.h>

#include <span>
#include <string>

#include "base/units.h"
#include "rules/rules.h"
#include "statistics/statistics.h"
#include "tensor/precision.h"

namespace assay {

// The parts of the table of rules, and what their sentences share. Only for src/rules.
std::span<const Rule> gate_rules();
std::span<const Rule> trust_rules();
std::span<const Rule> finding_rules();
std::span<const Rule> suspicion_rules();  ///< Findings that rows of grade D are looked at for too.
std::span<const Rule> energy_rules();     ///< Likewise, of energy.
std::span<const Rule> device_rules();     ///< Likewise, of a device that works beside the host.
std::span<const Rule> file_rules();       ///< Likewise, of records that were read.
std::span<const Rule> expectation_rules();

/// The row of the precision table behind "bf16[softmax=f32]"; null for a name that is not in it (a peer).
const Precision* precision_row(const Record& record);
/// Whether products of that dtype are what the precision is defined by: of weight-only int8 any float of 16 bits or
/// more is, whichever is native here.
bool is_defined_operand(const Precision& precision, DType operand);
/// Whether a latency stands there without what it follows from.
bool is_without_samples(const Record& row);
/// "bf16[head=f32]": what its row says of sizes and operands no longer holds for all of it.
bool is_overridden(const Record& record);

/// How far quality may change and still count as equal: a hundredth of a nat is 1 % of perplexity.
constexpr double log_perplexity_margin = 0.01;
constexpr double accuracy_margin = 0.01;
/// An equivalence test (Schuirmann 1987) by the 95 % interval of the change from the baseline.
enum class Equivalence : std::uint8_t {
  equal,       ///< The whole interval lies within the margin.
  different,   ///< The whole interval lies outside of it.
  cannot_tell  ///< Neither, or too few windows for an interval. Finding no difference is not this.
};
/// Absent where no change was measured.
std::optional<Equivalence> quality_equivalence(const Record& record);
/// "8,192 tokens in 64 windows", "10 rows".
std::string scored_words(const Record& record);
/// " (a part, 154,240 of 197,913 tokens before an interrupt)"; empty where all of the data was scored.
std::string part_scored_words(const Record& record);
/// Whether the change is told apart from none at 95 %. Absent where no change was measured, or no interval of it.
std::optional<bool> is_quality_changed(const Record& record);

/// The row's baseline where nothing may be compared with it, since it was found impossible or its output is not finite;
/// else null.
const Record* unsound_baseline(const Cell& cell, const Record& row);
/// The cell's baseline where its output is not finite, else null.
const Record* not_finite_baseline(const Cell& cell);
/// Whether the peaks were measured while others had more than half of the time: then they bound nothing.
bool are_peaks_busy(const Record& record);
/// Whether two rows were timed interleaved, so that their times compare.
bool were_interleaved(const Record& a, const Record& b);
/// Rate of the row's matmul over the baseline's; absent where not both were measured.
std::optional<double> matmul_ratio(const Record& record);
/// How many times as long as later ones the first samples took, where that is above 1.25x and so shows a warm-up that
/// was too short: of steps whose warm-up was asked for, the very first over the median; of others, where there are 20,
/// the median of the first tenth over that of the second half.
std::optional<double> short_warm_up(const Record& row);
/// Samples of the row's first process: what changes while a process lives is seen there.
std::span<const double> first_process_ms(const Record& row);
/// How many times as fast as `a` `b` is, with its 95 % interval: the speed-up where one is the other's baseline, else
/// by the rounds that both were timed in, over processes where there are several. Absent where neither is known.
std::optional<Ratio> paired_ratio_of(const Record& a, const Record& b);
/// Whether two measured rows are not told apart at 95 %: by the interval of the speed-up where one is the other's
/// baseline, else of the ratio round by round, over processes where there are several; by overlapping intervals of the
/// medians where samples are not at hand. So are rows without intervals, and those that were not timed interleaved.
bool is_tie(const Record& a, const Record& b);
/// ", 95 % [0.983, 1.014]" of the ratio of their times by which is_tie() decides; empty where there is none.
std::string ratio_words(const Record& a, const Record& b);
/// " at 1 x 128", " in phase load", "" of a whole program: which cell of its model the row is in.
std::string at_shape(const Record& row);
/// "decode at batch 1, depth 0, a prompt of 512 and 128 new tokens": what no other cell of generation is called.
std::string generation_cell_words(const Setting& setting);

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
  return format_significant(record.latency->median_ms.value_or(0)) + " ms";
}

}  // namespace assay
