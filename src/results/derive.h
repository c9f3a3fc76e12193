#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "results/record.h"
#include "statistics/between_runs.h"

namespace assay {

// Figures that follow from others. They are computed when a record is made, and again whenever one is read: nothing is
// believed because it is written.

/// Median, percentiles, mean, deviation and interval of samples in ms. `processes`: how many are of each, where they
/// are of several (statistics/processes.h). `between`: what runs differ by here, where that is known.
Latency latency_of(std::span<const double> samples_ms, std::span<const double> processes = {},
                   const std::optional<RunSpread>& between = std::nullopt);

/// Samples of the same rounds.
struct PairedSamples {
  std::span<const double> baseline_ms;
  std::span<const double> own_ms;
  std::span<const double> processes = {};
  std::optional<RunSpread> between = std::nullopt;
};
/// The baseline's time over this one's, round by round. Absent where there is no baseline.
std::optional<Speedup> speedup_of(const PairedSamples& samples, std::uint64_t seed);
/// What of a step by several ranks follows from its samples, round by round with those of `record`'s latency.
void derive_ranked(const Record& record, RankedStep& ranked);
/// Rates from the median, the totals over all windows and the plan's figures, what energy is worth. What lacks its
/// ingredients stays absent.
Rates rates_of(const Record& record);

/// Records of one run with all that follows from their samples, totals and plan figures.
std::vector<Record> with_derived(std::vector<Record> records);
/// Records of one run as they follow from their samples, totals and plan figures. What lacks its ingredients, or was
/// computed by a method that this version does not know, stays as it stands. A stored figure that differs from that is
/// replaced, and said in `seal.changed`.
std::vector<Record> derived_again(std::vector<Record> records);

}  // namespace assay
