#include "results/derive.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <type_traits>

#include "results/fields.h"
#include "results/identity.h"
#include "statistics/processes.h"
#include "statistics/statistics.h"

namespace assay {
namespace {

constexpr const char* order_statistics = "order statistics 1";
constexpr const char* paired_bootstrap = "paired bootstrap 1";
constexpr const char* between_processes = "between processes 1";
constexpr const char* between_runs = "between runs 1";
/// Of what is not Student's: so many that t is the normal distribution's.
constexpr double many_degrees = 1e6;

std::optional<RunSpread> run_spread(const std::optional<double>& deviation, const std::optional<double>& degrees) {
  if (!deviation || !degrees || !(*deviation >= 0) || !(*degrees >= 1)) return std::nullopt;
  return RunSpread{*deviation, *degrees};
}

/// An interval with its method.
struct MethodInterval {
  Interval interval;
  const char* method;
};

MethodInterval over_runs(const MethodInterval& within, double degrees, const std::optional<RunSpread>& between) {
  if (!between || within.interval.low <= 0) return within;
  return {with_spread({within.interval, degrees}, *between), between_runs};
}

double degrees_of(bool is_over_processes, std::span<const double> processes) {
  return is_over_processes ? static_cast<double>(processes.size()) - 1 : many_degrees;
}

double sum(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

/// Real ones in a row.
double tokens_a_row(const Setting& setting, const Latency& latency) {
  if (latency.raw_tokens.empty()) return static_cast<double>(setting.seq);
  return sum(latency.raw_tokens) / static_cast<double>(latency.raw_tokens.size()) / static_cast<double>(setting.batch);
}

void rate_energy(const Record& record, Rates& rates) {
  constexpr double j_of_kwh = 3.6e6;
  if (!record.energy || !record.energy->energy_j) return;
  const Energy& energy = *record.energy;
  rates.energy_per_token_j = *energy.energy_j / tokens_a_row(record.setting, *record.latency);
  if (const auto ms = record.latency->median_ms) rates.energy_delay_js = *energy.energy_j * *ms * 1e-3;
  const double kwh_per_million = *rates.energy_per_token_j * 1e6 / j_of_kwh;
  if (energy.price_per_kwh) rates.cost_per_million_tokens = kwh_per_million * *energy.price_per_kwh;
  if (energy.carbon_g_per_kwh) rates.carbon_g_per_million_tokens = kwh_per_million * *energy.carbon_g_per_kwh;
}

void rate_throughput(const Setting& setting, const Latency& latency, Rates& rates) {
  if (!latency.timed_runs || latency.timed_s.value_or(0) <= 0) return;
  const auto sequences = static_cast<double>(setting.batch) * static_cast<double>(*latency.timed_runs);
  rates.samples_per_s = latency.items.value_or(sequences) / *latency.timed_s;
  rates.tokens_per_s = *rates.samples_per_s * tokens_a_row(setting, latency);
  if (sum(latency.raw_positions) > 0) rates.padding_share = 1 - sum(latency.raw_tokens) / sum(latency.raw_positions);
}

void rate_work(const Record& record, Rates& rates) {
  const double pass_s = work_ms(record).value_or(0) * 1e-3;
  if (pass_s <= 0) return;
  const Evidence& evidence = record.evidence;
  if (evidence.flops) rates.gflops = *evidence.flops / pass_s * 1e-9;
  if (rates.gflops && evidence.peak_gflops.value_or(0) > 0) rates.peak_share = *rates.gflops / *evidence.peak_gflops;
  if (evidence.moved_bytes) rates.bytes_per_s = *evidence.moved_bytes / pass_s;
  const auto read_bytes = bytes_a_run(record);
  if (read_bytes && evidence.bandwidth_bytes_per_s.value_or(0) > 0)
    rates.bandwidth_share = *read_bytes / pass_s / *evidence.bandwidth_bytes_per_s;
}

/// Where another compiler rounds otherwise, figures differ by some units in the last place.
constexpr double rounding = 1e-9;

bool is_close(double a, double b) {
  return std::abs(a - b) <= rounding * std::max(std::abs(a), std::abs(b));
}

template <typename T>
void take(const std::optional<T>& from, std::optional<T>& to) {
  if (from) to = from;
}

/// Whether this version computes what that method did. Which of them it is follows from the samples.
bool is_known(const std::optional<std::string>& method) {
  return !method || method == order_statistics || method == paired_bootstrap || method == between_processes ||
         method == between_runs;
}

void derive_latency(Latency& latency) {
  if (latency.raw_ms.empty()) return;
  const Latency fresh =
      latency_of(latency.raw_ms, latency.process_samples, run_spread(latency.run_spread, latency.run_spread_degrees));
  latency.samples = fresh.samples;
  for (const auto figure :
       {&Latency::median_ms, &Latency::p10_ms, &Latency::p90_ms, &Latency::p99_ms, &Latency::mean_ms, &Latency::std_ms})
    take(fresh.*figure, latency.*figure);
  if (!is_known(latency.interval_by)) return;
  take(fresh.ci_low_ms, latency.ci_low_ms);
  take(fresh.ci_high_ms, latency.ci_high_ms);
  take(fresh.interval_by, latency.interval_by);
}

/// The row that a speed-up is over: of the same cell and group. Programs are compared whatever their commands are.
const Record* baseline_of(const Record& record, std::span<const Record> records) {
  const auto found = std::find_if(records.begin(), records.end(), [&](const Record& other) {
    const bool together = is_of_program(record.setting.mode)
                              ? other.setting.mode == record.setting.mode && !other.setting.phase
                              : stand_together(other.setting, record.setting, Level::cell);
    return together && other.setting.precision == record.setting.baseline && !other.setting.engine &&
           other.outcome.group == record.outcome.group;
  });
  return found == records.end() ? nullptr : &*found;
}

void derive_speedup(std::span<const Record> records, Record& record) {
  if (!record.speedup || !record.latency || !is_known(record.speedup->speedup_by)) return;
  const Record* baseline = baseline_of(record, records);
  const std::vector<double>& own = record.speedup->baseline_raw_ms;
  const std::vector<double>& kept = own.empty() && baseline != nullptr ? baseline->latency->raw_ms : own;
  const auto between = run_spread(record.speedup->speedup_run_spread, record.speedup->speedup_run_spread_degrees);
  const auto fresh = speedup_of({kept, record.latency->raw_ms, record.latency->process_samples, between},
                                static_cast<std::uint64_t>(record.setting.seed));
  if (!fresh) return;
  Speedup& speedup = record.speedup.made();
  for (const auto figure :
       {&Speedup::baseline_median_ms, &Speedup::speedup, &Speedup::speedup_low, &Speedup::speedup_high})
    take((*fresh).*figure, speedup.*figure);
  take(fresh->speedup_by, speedup.speedup_by);
}

void derive_quality(Quality& quality) {
  if (quality.log_perplexity) quality.perplexity = std::exp(*quality.log_perplexity);
  if (quality.correct && quality.scored.value_or(0) > 0)
    quality.accuracy = static_cast<double>(*quality.correct) / static_cast<double>(*quality.scored);
}

void derive_training(const Latency& whole, Training& training) {
  take(whole.median_ms, training.step_ms);
  take(whole.mean_ms, training.mean_step_ms);
  take(whole.std_ms, training.std_step_ms);
}

struct RatioFigures {
  std::optional<double> RankedStep::*value;
  std::optional<double> RankedStep::*low;
  std::optional<double> RankedStep::*high;
};

/// Over the step of all, round by round.
void derive_ratio(std::span<const double> times_ms, const Record& record, const RatioFigures& figures,
                  RankedStep& ranked) {
  const auto ratio = paired_ratio(times_ms, record.latency->raw_ms, static_cast<std::uint64_t>(record.setting.seed));
  if (!ratio) return;
  ranked.*figures.value = ratio->value;
  if (!ratio->interval) return;
  ranked.*figures.low = ratio->interval->low;
  ranked.*figures.high = ratio->interval->high;
}

/// Tokens of the rounds that stand apart, or the others.
std::vector<double> tokens_of(const GenerationCosts& generation, std::int64_t a_round, bool is_first) {
  std::vector<double> tokens;
  for (std::size_t i = 0; i < generation.raw_token_ms.size(); ++i) {
    const std::int64_t place = static_cast<std::int64_t>(i) % a_round;
    if ((place < generation.first_tokens.value_or(0)) == is_first) tokens.push_back(generation.raw_token_ms[i]);
  }
  return tokens;
}

void derive_tokens(std::int64_t a_round, GenerationCosts& generation) {
  if (generation.raw_token_ms.empty() || a_round < 1) return;
  if (const auto first = summarise(tokens_of(generation, a_round, true))) generation.first_token_ms = first->median;
  const auto others = summarise(tokens_of(generation, a_round, false));
  if (!others) return;
  generation.token_ms = others->median;
  generation.token_p10_ms = others->p10;
  generation.token_p90_ms = others->p90;
  generation.token_p99_ms = others->p99;
}

/// Absent where continuations are shorter.
void derive_equal(const DecodedDifference& decoded, std::int64_t tokens, std::optional<double>& share) {
  if (decoded.equal_tokens.empty() || decoded.continued_tokens.value_or(0) < tokens) return;
  const auto are_equal = [&](double equal) { return equal >= static_cast<double>(tokens); };
  const auto count = std::count_if(decoded.equal_tokens.begin(), decoded.equal_tokens.end(), are_equal);
  share = static_cast<double>(count) / static_cast<double>(decoded.equal_tokens.size());
}

void derive_decoded(DecodedDifference& decoded) {
  derive_equal(decoded, 32, decoded.equal_32);
  derive_equal(decoded, 64, decoded.equal_64);
  derive_equal(decoded, 128, decoded.equal_128);
}

void derive_rates(Record& record) {
  const Rates fresh = rates_of(record);
  Rates& rates = record.rates;
  for (const auto figure :
       {&Rates::samples_per_s, &Rates::tokens_per_s, &Rates::padding_share, &Rates::gflops, &Rates::peak_share,
        &Rates::bytes_per_s, &Rates::bandwidth_share, &Rates::energy_per_token_j, &Rates::energy_delay_js,
        &Rates::cost_per_million_tokens, &Rates::carbon_g_per_million_tokens})
    take(fresh.*figure, rates.*figure);
}

/// The number that a field holds; none for texts and series.
std::optional<double> value_of(const Field& field, const Record& record) {
  return std::visit(
      [](const auto* value) -> std::optional<double> {
        using T = std::remove_cvref_t<decltype(*value)>;
        if constexpr (std::is_same_v<T, std::int64_t>) {
          return static_cast<double>(*value);
        } else if constexpr (std::is_same_v<T, std::optional<double>>) {
          return *value;
        } else {
          return std::nullopt;
        }
      },
      field.value(record));
}

/// Figures of which another value stood there.
std::vector<std::string> differences(const Record& stored, const Record& derived) {
  std::vector<std::string> found;
  for (const Field& field : record_fields()) {
    const auto was = value_of(field, stored);
    const auto is = value_of(field, derived);
    if (was && is && !is_close(*was, *is))
      found.push_back(fmt::format("{} was written as {:.6g}, and follows as {:.6g}", field.name, *was, *is));
  }
  return found;
}

}  // namespace

Latency latency_of(std::span<const double> samples_ms, std::span<const double> processes,
                   const std::optional<RunSpread>& between) {
  Latency latency{.samples = std::ssize(samples_ms),
                  .raw_ms = {samples_ms.begin(), samples_ms.end()},
                  .process_samples = {processes.begin(), processes.end()}};
  const std::optional<Summary> summary = summarise(samples_ms);
  if (!summary) return latency;
  latency.median_ms = summary->median;
  latency.p10_ms = summary->p10;
  latency.p90_ms = summary->p90;
  latency.p99_ms = summary->p99;
  latency.mean_ms = summary->mean;
  latency.std_ms = summary->standard_deviation;
  const bool is_over_processes = are_of_processes(samples_ms, processes);
  const auto interval = is_over_processes
                            ? interval_over_processes(medians_of_processes(samples_ms, processes), summary->median)
                            : summary->interval;
  if (!interval) return latency;
  const auto [ends, method] = over_runs({*interval, is_over_processes ? between_processes : order_statistics},
                                        degrees_of(is_over_processes, processes), between);
  latency.ci_low_ms = ends.low;
  latency.ci_high_ms = ends.high;
  latency.interval_by = method;
  return latency;
}

std::optional<Speedup> speedup_of(const PairedSamples& samples, std::uint64_t seed) {
  const auto& [baseline_ms, own_ms, processes, between] = samples;
  const auto summary = summarise(baseline_ms);
  if (!summary) return std::nullopt;
  Speedup speedup{.baseline_median_ms = summary->median};
  const auto ratio = paired_ratio(baseline_ms, own_ms, seed);
  if (!ratio) return speedup;
  speedup.speedup = ratio->value;
  const bool is_over_processes = baseline_ms.size() == own_ms.size() && are_of_processes(own_ms, processes);
  const auto interval = is_over_processes
                            ? interval_over_processes(ratios_of_processes(baseline_ms, own_ms, processes), ratio->value)
                            : ratio->interval;
  if (!interval) return speedup;
  const auto [ends, method] = over_runs({*interval, is_over_processes ? between_processes : paired_bootstrap},
                                        degrees_of(is_over_processes, processes), between);
  speedup.speedup_low = ends.low;
  speedup.speedup_high = ends.high;
  speedup.speedup_by = method;
  return speedup;
}

void derive_ranked(const Record& record, RankedStep& ranked) {
  if (ranked.raw_exposed_ms.empty() || !record.latency) return;
  ranked.exposed_ms = median(ranked.raw_exposed_ms);
  derive_ratio(ranked.raw_exposed_ms, record,
               {&RankedStep::exposed_of_step, &RankedStep::exposed_of_step_low, &RankedStep::exposed_of_step_high},
               ranked);
  derive_ratio(ranked.raw_alone_part_ms, record,
               {&RankedStep::weak_efficiency, &RankedStep::weak_efficiency_low, &RankedStep::weak_efficiency_high},
               ranked);
  derive_ratio(ranked.raw_alone_ms, record,
               {&RankedStep::rank_speedup, &RankedStep::rank_speedup_low, &RankedStep::rank_speedup_high}, ranked);
  derive_ratio(
      ranked.raw_one_process_ms, record,
      {&RankedStep::one_process_ratio, &RankedStep::one_process_ratio_low, &RankedStep::one_process_ratio_high},
      ranked);
}

Rates rates_of(const Record& record) {
  Rates rates;
  rate_energy(record, rates);
  if (!record.latency) return rates;
  rate_throughput(record.setting, *record.latency, rates);
  rate_work(record, rates);
  return rates;
}

std::vector<Record> with_derived(std::vector<Record> records) {
  const std::vector<Record> stored = records;
  for (Record& record : records) {
    if (record.latency) derive_latency(record.latency.made());
    if (record.training && record.latency) derive_training(*record.latency, record.training.made());
    if (record.ranked) derive_ranked(record, record.ranked.made());
    if (record.generation) derive_tokens(record.setting.new_tokens.value_or(0), record.generation.made());
    if (record.quality) derive_quality(record.quality.made());
    if (record.decoded) derive_decoded(record.decoded.made());
    derive_speedup(stored, record);
    derive_rates(record);
  }
  return records;
}

std::vector<Record> derived_again(std::vector<Record> stored) {
  std::vector<Record> records = with_derived(stored);
  for (std::size_t i = 0; i < records.size(); ++i) {
    for (std::string& one : differences(stored[i], records[i])) records[i].seal.changed.push_back(std::move(one));
  }
  return records;
}

}  // namespace assay
