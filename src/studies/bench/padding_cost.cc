#include "studies/bench/padding_cost.h"

#include <memory>
#include <vector>

#include "base/error.h"

namespace assay {
namespace {

/// Below it the two are alike.
constexpr double least_skipped = 0.05;
/// Fewest rounds with an interval.
constexpr int fewest_pairs = 6;

std::int64_t positions_of(const CellInputs& inputs) {
  std::int64_t positions = 0;
  for (const QualityBatch& batch : inputs.batches) positions += std::ssize(batch.ids);
  return positions;
}

/// The batch with its rows filled up to `length`.
QualityBatch filled_up(const QualityBatch& batch, std::int64_t length) {
  QualityBatch full{{batch.extent.batch, length}, {}, {}, {}};
  for (std::int64_t row = 0; row < batch.extent.batch; ++row) {
    for (std::int64_t t = 0; t < length; ++t) {
      const auto at = static_cast<std::size_t>(row * batch.extent.seq + t);
      const bool is_there = t < batch.extent.seq;
      full.ids.push_back(is_there ? batch.ids[at] : 0);
      full.mask.push_back(is_there && (batch.mask.empty() || batch.mask[at] != 0) ? 1 : 0);
    }
  }
  return full;
}

}  // namespace

std::optional<Ratio> padding_cost(TimedPass& pass, Instance& instance, const CellInputs& inputs,
                                  const SamplingOptions& options) {
  if (static_cast<double>(positions_of(inputs)) > (1 - least_skipped) * static_cast<double>(inputs.given_positions))
    return std::nullopt;
  std::vector<QualityBatch> full;
  full.reserve(inputs.batches.size());
  for (const QualityBatch& batch : inputs.batches) full.push_back(filled_up(batch, inputs.extent.seq));
  PlanOptions plan_options = pass.longest().options();
  plan_options.extent = inputs.extent;
  plan_options.mask = AttentionMask::given;
  try {
    return with_memory_errors([&]() -> std::optional<Ratio> {
      TimedPass padded(std::make_unique<Plan>(instance, plan_options), instance, full);
      const std::vector<Subject> subjects = {pass.subject("as timed"), padded.subject("at full length")};
      SamplingOptions pairs = options;
      pairs.least_rounds = fewest_pairs;
      pairs.seconds_after_start = {};
      pairs.meter = nullptr;
      pairs.other_meters.clear();
      pairs.energy_window_s = 0;
      const std::vector<Series> series = sample(subjects, pairs);
      return paired_ratio(series[1].raw_ms, series[0].raw_ms, options.seed);
    });
  } catch (const OutOfMemory&) {
    return std::nullopt;
  }
}

}  // namespace assay
