#include "studies/shared/series_record.h"

#include <fmt/format.h>

#include "results/derive.h"
#include "statistics/statistics.h"

namespace assay {
namespace {

Circumstances circumstances_of(const Conditions& conditions, std::int64_t threads) {
  Circumstances found{.foreign_load = conditions.foreign_load(static_cast<int>(threads)),
                      .stolen_share = conditions.stolen_share(),
                      .frequency_before_mhz = conditions.frequency_before_mhz,
                      .frequency_after_mhz = conditions.frequency_after_mhz,
                      .temperature_before_c = conditions.temperature_before_c,
                      .temperature_after_c = conditions.temperature_after_c,
                      .page_faults = conditions.page_faults,
                      .major_page_faults = conditions.major_page_faults};
  if (const std::string words = throttle_words(conditions.throttle_reasons); !words.empty()) found.throttle = words;
  return found;
}

Latency series_latency(const Series& series, const SeriesContext& context, const std::string& device) {
  Latency latency = latency_of(series.raw_ms);
  latency.prepare_ms = context.prepare_ms;
  if (series.first_ms) latency.first_ms = *series.first_ms + context.prepare_ms.value_or(0);
  latency.repetitions = series.repetitions;
  latency.warm_up_ms = series.warm_up_ms;
  latency.steady = series.steady;
  if (context.asked_width > 0) latency.asked_width = context.asked_width;
  latency.stopped_by = series.stopped_by;
  if (series.timed_runs > 0) {
    latency.timed_runs = series.timed_runs;
    latency.timed_s = series.timed_s;
  }
  if (!series.device_ms.empty()) latency.device_ms = median(series.device_ms);
  if (!series.enqueue_ms.empty()) latency.enqueue_ms = median(series.enqueue_ms);
  if (device == "cuda") latency.throttled_rounds = series.throttled_rounds;
  return latency;
}

void set_outcome_without_samples(const Series& series, CellOutcome& outcome) {
  const bool slow = series.stopped_by == StoppedBy::too_slow;
  outcome.status = slow ? Status::too_slow : Status::interrupted;
  outcome.reason =
      slow ? fmt::format("the first run took {:.1f} s", *series.first_ms / 1e3) : "interrupted before it had samples";
}

}  // namespace

void record_series(const Series& series, const SeriesContext& context, Record& record) {
  const Setting& setting = record.setting;
  record.latency = series_latency(series, context, setting.device);
  record.circumstances = circumstances_of(series.conditions, setting.threads);
  if (context.baseline.name == setting.baseline)
    record.speedup = speedup_of({context.baseline.raw_ms, series.raw_ms}, context.seed);
  record.energy = energy_of(series, context.power, setting.batch);
  if (series.raw_ms.empty()) set_outcome_without_samples(series, record.outcome);
  record.rates = rates_of(record);
}

}  // namespace assay
