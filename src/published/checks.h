#pragma once

// What the rules say of published tables; table_rules() names each. Only for src/published.

#include <fmt/format.h>

#include <cmath>
#include <span>
#include <string>

#include "base/units.h"
#include "published/complaints.h"
#include "rules/physics.h"

namespace assay {

void check_durations(const PublishedTable& table, Complaints& say);
void check_placeholders(const PublishedTable& table, Complaints& say);
void check_spread(const PublishedTable& table, Complaints& say);
void check_subtraction(const PublishedTable& table, Complaints& say);
void check_parts(const PublishedTable& table, Complaints& say);
void check_launch_bound(const PublishedTable& table, Complaints& say);
void check_idle_device(const PublishedTable& table, Complaints& say);
void check_ratios(const PublishedTable& table, Complaints& say);
void check_claims(const PublishedTable& table, Complaints& say);
void check_slower(const PublishedTable& table, Complaints& say);
void check_same_figures(const PublishedTable& table, Complaints& say);
void check_stand_ins(const PublishedTable& table, Complaints& say);
void check_emulated(const PublishedTable& table, Complaints& say);
void check_slow_precision(const PublishedTable& table, Complaints& say);
void check_speedup_peaks(const PublishedTable& table, Complaints& say);
void check_size_dtype(const PublishedTable& table, Complaints& say);
void check_size_16_bit(const PublishedTable& table, Complaints& say);
void check_size_parameters(const PublishedTable& table, Complaints& say);
void check_perplexity(const PublishedTable& table, Complaints& say);
void check_accuracy_range(const PublishedTable& table, Complaints& say);
void check_accuracy_noise(const PublishedTable& table, Complaints& say);
void check_instruction_peak(const PublishedTable& table, Complaints& say);
void check_near_peak(const PublishedTable& table, Complaints& say);
void check_bandwidth(const PublishedTable& table, Complaints& say);
void check_no_spread(const PublishedTable& table, Complaints& say);
void check_within_spread(const PublishedTable& table, Complaints& say);
void check_relations(const PublishedTable& table, Complaints& say);
void check_limits(const PublishedTable& table, Complaints& say);
void check_order(const PublishedTable& table, Complaints& say);
void check_loss(const PublishedTable& table, Complaints& say);
void check_accuracy_counts(const PublishedTable& table, Complaints& say);
void check_same_quality(const PublishedTable& table, Complaints& say);
void check_quality_gain(const PublishedTable& table, Complaints& say);
void check_equal_sizes(const PublishedTable& table, Complaints& say);
void check_changes(const PublishedTable& table, Complaints& say);
void check_baseline(const PublishedTable& table, Complaints& say);
void check_zero_spread(const PublishedTable& table, Complaints& say);
void check_warm_up(const PublishedTable& table, Complaints& say);

/// How many rows of data an accuracy is of, by a column, the words around, or the data set's size; 0: nothing says it.
double scored_rows(const PublishedTable& table, const Observation& row, const Measured& accuracy);
/// An accuracy as a share, whether printed as 0.913 or as 91.3, with its rounding.
Range accuracy_share(const Measured& accuracy);
/// The row whose precision stores the most bits; null where none is named.
const Observation* widest_of(const std::vector<const Observation*>& group);
/// The row's own model, else the table's; or null.
const KnownModel* model_of(const PublishedTable& table, const Observation& row);
/// All parameters, from a column or `model`, which may be null; 0 where neither says.
double parameters_of(const Observation& row, const KnownModel* model);
/// Parameters that products multiply with: without tables that are only looked up.
double multiplied_of(const PublishedTable& table, const Observation& row);

/// Whether its words say that the CPU ran it.
bool runs_on_cpu(const Observation& row);

/// Calls `check(group, baseline, row)` for every row of a named precision beside its group's baseline.
template <typename Check>
void for_pairs_with_baseline(const PublishedTable& table, Check&& check) {
  for (const auto& group : table.groups()) {
    const Observation* baseline = baseline_of(group);
    if (!baseline) continue;
    for (const Observation* row : group) {
      if (row != baseline && row->precision.precision != PrecisionName::unknown) check(group, *baseline, *row);
    }
  }
}

/// The duration that compares rows: latency, else forward, else step; none without one of both.
std::optional<Quantity> common_duration(const Observation& a, const Observation& b);
/// Mean power in W while the row ran, from energy and duration; none where either lacks a unit. Where rows are batches
/// it spans both readings: energy of a sample with the time of a sample, or of a batch.
std::optional<Range> implied_power(const PublishedTable& table, const Observation& row);
/// Sequences in a run, from a column or the words above.
std::optional<double> batch_of(const PublishedTable& table, const Observation& row);
/// 10^12 operations a second that a duration stands for; none where model, shape or unit is not known.
std::optional<Range> implied_tops(const PublishedTable& table, const Observation& row, Quantity duration);

inline std::string shown(const Measured& measured) {
  return measured.figure.text;
}
inline std::string shown(double value, int digits = 3) {
  return format_significant(value, digits);
}
/// "a T4", "4 A100"
inline std::string cards_of(const KnownDevice& device, double cards) {
  return cards > 1 ? fmt::format("{} {}", shown(cards), device.name) : fmt::format("a {}", device.name);
}
inline double middle(Range range) {
  return (range.low + range.high) / 2;
}
/// "29.4 W", with what rounding leaves open: "62.0 to 73.1".
inline std::string shown(Range range) {
  if (range.high - range.low <= 0.03 * std::abs(middle(range))) return shown(middle(range));
  return shown(range.low) + " to " + shown(range.high);
}

}  // namespace assay
