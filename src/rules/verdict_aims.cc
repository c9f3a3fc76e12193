#include <algorithm>
#include <array>
#include <cmath>

#include "results/identity.h"
#include "rules/physics.h"
#include "rules/range.h"
#include "rules/verdict_parts.h"
#include "statistics/statistics.h"
#include "tensor/block_format.h"

namespace assay {
namespace {

/// As far apart as `assay compare` calls the same.
constexpr double time_margin = 0.03;
/// Counts have no interval; a hundredth of them is nothing to choose by.
constexpr double bytes_margin = 0.01;
static_assert(log_perplexity_margin == accuracy_margin, "one margin serves both");
/// Medians of one program on shared machines move by as much from run to run (docs/results.md, Compare): rows that no
/// rounds pair are told apart by more alone.
constexpr double apart_margin = 0.15;

std::optional<Gain> median_of(const VerdictRow& row) {
  const Latency& latency = *row.record->latency;
  if (latency.median_ms.value_or(0) <= 0) return {};
  Gain gain{.value = *latency.median_ms};
  if (latency.ci_low_ms && latency.ci_high_ms) gain.range = Range{*latency.ci_low_ms, *latency.ci_high_ms};
  return gain;
}

Gain quotient(const Gain& above, const Gain& below, const char* by) {
  Gain gain{.value = above.value / below.value, .range = {}, .by = by};
  if (above.range && below.range && below.range->low > 0) gain.range = *above.range / *below.range;
  return gain;
}

/// Of two that nothing pairs; the interval is wider by what runs move.
Gain apart(const Gain& above, const Gain& below) {
  Gain gain = quotient(above, below, measured_apart);
  if (gain.range) gain.range = *gain.range * Range{1 / (1 + apart_margin), 1 + apart_margin};
  return gain;
}

/// Over the baseline; of the baseline itself 1.
std::optional<Gain> speed_over_baseline(const Record& row) {
  const Speedup& speedup = *row.speedup;
  if (!speedup.speedup || !speedup.speedup_low || !speedup.speedup_high) return {};
  return Gain{.value = *speedup.speedup, .range = Range{*speedup.speedup_low, *speedup.speedup_high}};
}

std::optional<Gain> time_over(const VerdictRow& best, const VerdictRow& other) {
  const auto best_ms = median_of(best);
  const auto other_ms = median_of(other);
  if (!best_ms || !other_ms) return {};
  if (best.cell != other.cell) return apart(*other_ms, *best_ms);
  if (const auto paired = paired_ratio_of(*other.record, *best.record); paired && paired->interval)
    return Gain{
        .value = paired->value, .range = Range{paired->interval->low, paired->interval->high}, .by = "round by round"};
  const auto best_speed = speed_over_baseline(*best.record);
  const auto other_speed = speed_over_baseline(*other.record);
  if (best_speed && other_speed) return quotient(*best_speed, *other_speed, "by their speed-ups");
  return apart(*other_ms, *best_ms);
}

std::string lacks_time(const VerdictRow& row) {
  return median_of(row) ? "" : "no time was measured";
}

std::string time_words(const Record& row) {
  return milliseconds(row);
}

/// Sequences, tokens of decoding, at the median.
std::optional<Gain> rate_of(const VerdictRow& row) {
  const auto ms = median_of(row);
  if (!ms) return {};
  const double batch_ms = 1e3 * static_cast<double>(row.record->setting.batch);
  Gain rate{.value = batch_ms / ms->value};
  if (ms->range) rate.range = Range{batch_ms / ms->range->high, batch_ms / ms->range->low};
  return rate;
}

std::optional<Gain> rate_over(const VerdictRow& best, const VerdictRow& other) {
  auto gain = time_over(best, other);
  if (!gain) return {};
  const double batches =
      static_cast<double>(best.record->setting.batch) / static_cast<double>(other.record->setting.batch);
  gain->value *= batches;
  if (gain->range) gain->range = scaled(*gain->range, batches);
  return gain;
}

std::string rate_words(const Record& row) {
  const bool decodes = row.setting.mode == Mode::decode;
  return fmt::format(
      "{} {}/s at batch {}",
      format_significant(1e3 * static_cast<double>(row.setting.batch) / row.latency->median_ms.value_or(1)),
      decodes ? "tokens" : "sequences", row.setting.batch);
}

/// The ends of an interval as shares of its middle.
Range relative(double value, double low, double high) {
  return {low / value, high / value};
}

/// Of the mean power of windows; nothing of too few of them, whose power the meter's bound covers alone.
Range power_spread(const Energy& energy) {
  std::vector<double> watts = energy.window_power_w;
  std::sort(watts.begin(), watts.end());
  const auto interval = median_interval(watts);
  return interval && interval->low > 0 ? relative(median(watts), interval->low, interval->high) : exactly(1);
}

/// The meter's bound, widened by the intervals of time and of power.
std::optional<Gain> energy_of_row(const VerdictRow& row) {
  const Energy& energy = *row.record->energy;
  const auto ms = median_of(row);
  if (!energy.energy_j || *energy.energy_j <= 0) return {};
  Gain gain{.value = *energy.energy_j};
  const double bound = energy.energy_uncertainty_j.value_or(0);
  if (!energy.energy_uncertainty_j || bound >= gain.value || !ms || !ms->range) return gain;
  gain.range = Range{gain.value - bound, gain.value + bound} * relative(ms->value, ms->range->low, ms->range->high) *
               power_spread(energy);
  return gain;
}

std::string lacks_energy(const VerdictRow& row) {
  const Energy& energy = *row.record->energy;
  if (!energy.energy_j) return to_text(energy.energy_status);
  if (*energy.energy_j <= 0) return "the meter gave no joules";
  return energy.energy_conflict.value_or(row.energy_doubt);
}

std::optional<Gain> energy_over(const VerdictRow& best, const VerdictRow& other) {
  return quotient(*energy_of_row(other), *energy_of_row(best), "by the meter's bounds");
}

std::string energy_words(const Record& row) {
  return format_significant(row.energy->energy_j.value_or(0)) + " J";
}

template <std::optional<std::int64_t> MemoryUse::*bytes>
std::optional<Gain> bytes_of(const VerdictRow& row) {
  const std::optional<std::int64_t> count = (*row.record->memory).*bytes;
  if (count.value_or(0) <= 0) return {};
  const auto value = static_cast<double>(*count);
  return Gain{.value = value, .range = exactly(value)};
}

template <std::optional<std::int64_t> MemoryUse::*bytes>
std::string lacks_bytes(const VerdictRow& row) {
  return bytes_of<bytes>(row) ? "" : "no bytes were counted";
}

template <std::optional<std::int64_t> MemoryUse::*bytes>
std::optional<Gain> bytes_over(const VerdictRow& best, const VerdictRow& other) {
  return quotient(*bytes_of<bytes>(other), *bytes_of<bytes>(best), "counted");
}

template <std::optional<std::int64_t> MemoryUse::*bytes>
std::string bytes_words(const Record& row) {
  return megabytes(static_cast<double>(((*row.memory).*bytes).value_or(0)));
}

bool is_scored_baseline(const Record& row) {
  return is_baseline(row.setting) && *quality_kind(row) != '\0';
}

/// What quality it loses against the baseline: log-perplexity in nats, or accuracy as a share; of the baseline none.
std::optional<Gain> loss_of(const VerdictRow& row) {
  const Difference& d = *row.record->difference;
  if (row.record->quality->quality_status.state == QualityState::random_weights) return {};
  if (is_scored_baseline(*row.record)) return Gain{.value = 0, .range = exactly(0)};
  if (d.delta_log_perplexity) {
    Gain gain{.value = *d.delta_log_perplexity};
    if (d.delta_log_perplexity_low && d.delta_log_perplexity_high)
      gain.range = Range{*d.delta_log_perplexity_low, *d.delta_log_perplexity_high};
    return gain;
  }
  if (!d.accuracy_change) return {};
  Gain gain{.value = -*d.accuracy_change};
  if (d.accuracy_change_low && d.accuracy_change_high)
    gain.range = Range{-*d.accuracy_change_high, -*d.accuracy_change_low};
  return gain;
}

std::string lacks_quality(const VerdictRow& row) {
  if (loss_of(row)) return "";
  const QualityStatus& status = row.record->quality->quality_status;
  if (status.state == QualityState::random_weights) return "random weights have none";
  if (status.state == QualityState::not_asked) return "not scored";
  if (status.state == QualityState::scored) return "no change from " + row.record->setting.baseline + " was measured";
  return to_text(status);
}

/// Both changes are from one baseline on one text; how they vary together is not kept, so their intervals add up.
std::optional<Gain> loss_over(const VerdictRow& best, const VerdictRow& other) {
  const Gain a = *loss_of(best);
  const Gain b = *loss_of(other);
  Gain gain{.value = b.value - a.value, .range = {}, .by = "by their changes from the baseline"};
  if (a.range && b.range) gain.range = Range{b.range->low - a.range->high, b.range->high - a.range->low};
  return gain;
}

std::string loss_words(const Record& row) {
  if (row.quality->perplexity) return fmt::format("perplexity {}", format_significant(*row.quality->perplexity, 4));
  if (row.quality->accuracy) return fmt::format("accuracy {} %", format_significant(100 * *row.quality->accuracy, 4));
  return "scored";
}

constexpr const char* takes = "{1} takes {0}";
constexpr VerdictAim all_aims[] = {
    {"latency", "ms", 1, time_margin, median_of, lacks_time, time_over, time_words, "{0} as fast as {1}"},
    {"throughput", "1/s", 1, time_margin, rate_of, lacks_time, rate_over, rate_words, "{0} as many as {1}"},
    {"energy", "J", 1, time_margin, energy_of_row, lacks_energy, energy_over, energy_words, takes},
    {"memory", "B", 1, bytes_margin, bytes_of<&MemoryUse::peak_bytes>, lacks_bytes<&MemoryUse::peak_bytes>,
     bytes_over<&MemoryUse::peak_bytes>, bytes_words<&MemoryUse::peak_bytes>, takes, true},
    {"size", "B", 1, bytes_margin, bytes_of<&MemoryUse::model_bytes>, lacks_bytes<&MemoryUse::model_bytes>,
     bytes_over<&MemoryUse::model_bytes>, bytes_words<&MemoryUse::model_bytes>, takes, true},
    {"quality", "change", 0, log_perplexity_margin, loss_of, lacks_quality, loss_over, loss_words, "{1} loses {0}"},
};

AimStanding standing_of(const VerdictAim& aim, const std::optional<Gain>& gain) {
  if (!gain || !gain->range) return AimStanding::open;
  const double low = gain->range->low - aim.alike;
  const double high = gain->range->high - aim.alike;
  if (low >= -aim.margin && high <= aim.margin) return AimStanding::alike;
  return low > 0 ? AimStanding::worse : AimStanding::open;
}

std::string reason_of(const VerdictAim& aim, const std::optional<Gain>& gain) {
  return gain && gain->range ? fmt::format("the interval contains {}", aim.alike) : "there is no interval";
}

/// One row after the other against the best so far.
const VerdictRow* best_row(const VerdictAim& aim, std::span<const VerdictRow* const> rows) {
  const VerdictRow* best = nullptr;
  for (const VerdictRow* row : rows) {
    if (best == nullptr) {
      best = row;
      continue;
    }
    const auto gain = aim.gain(*best, *row);
    if (gain && gain->value < aim.alike) best = row;
  }
  return best;
}

/// Of a stored weight without its scales; absent where the file decides, or layers have rows of their own.
std::optional<double> bits_of(const Record& record) {
  const Precision* precision = precision_row(record);
  if (precision == nullptr || is_overridden(record) || takes_formats(precision->scheme)) return {};
  if (precision->blocks == nullptr) return 8.0 * static_cast<double>(size_of(precision->weights));
  return std::floor(8.0 * static_cast<double>(precision->blocks->bytes) /
                    static_cast<double>(precision->blocks->elements));
}

std::optional<double> peak_of(const Record& record) {
  return are_peaks_busy(record) ? std::nullopt : record.evidence.matmul_peak_gflops;
}

std::optional<double> bytes_read(const Record& record) {
  return bytes_a_run(record);
}

struct ProxyRule {
  const char* name;
  const char* words;
  std::optional<double> (*figure)(const Record& record);
  bool is_faster_with_more;  ///< Else with less.
};
constexpr ProxyRule proxy_rules[] = {{"bits", "by bits alone", bits_of, false},
                                     {"bytes_read", "by the bytes that a run reads", bytes_read, false},
                                     {"matmul_peak", "by the matmul peaks measured here", peak_of, true}};

}  // namespace

std::span<const VerdictAim> aims() {
  return all_aims;
}

const VerdictAim& aim_named(std::string_view key) {
  return *std::find_if(std::begin(all_aims), std::end(all_aims), [&](const VerdictAim& aim) { return key == aim.key; });
}

const char* name(AimStanding standing) {
  constexpr const char* names[] = {"take", "alike", "worse", "not settled", "no figure"};
  return names[static_cast<std::size_t>(standing)];
}

bool AimChoice::is_settled() const {
  return rows.size() > 1 && std::all_of(rows.begin(), rows.end(), [](const AimRow& row) {
           return row.standing != AimStanding::open && row.standing != AimStanding::lacking;
         });
}

AimChoice choose(const VerdictAim& aim, std::span<const VerdictRow* const> rows) {
  AimChoice choice{.aim = &aim, .best = nullptr, .rows = {}};
  std::vector<const VerdictRow*> with_figure;
  for (const VerdictRow* row : rows) {
    const std::string& unusable = aim.is_counted ? row->uncounted : row->unusable;
    const std::string lacks = unusable.empty() ? aim.lacks(*row) : unusable;
    choice.rows.push_back({.row = row, .reason = lacks});
    if (lacks.empty()) with_figure.push_back(row);
  }
  choice.best = best_row(aim, with_figure);
  for (AimRow& one : choice.rows) {
    if (!one.reason.empty()) continue;
    if (one.row == choice.best) {
      one.standing = AimStanding::taken;
      continue;
    }
    one.gain = aim.gain(*choice.best, *one.row);
    one.standing = standing_of(aim, one.gain);
    if (one.standing == AimStanding::open) one.reason = reason_of(aim, one.gain);
  }
  return choice;
}

std::vector<Proxy> proxies_of(const VerdictRow& reference, const VerdictRow& row) {
  std::vector<Proxy> proxies;
  for (const ProxyRule& rule : proxy_rules) {
    const auto before = rule.figure(*reference.record);
    const auto after = rule.figure(*row.record);
    if (before.value_or(0) <= 0 || after.value_or(0) <= 0) continue;
    proxies.push_back({rule.name, rule.words, rule.is_faster_with_more ? *after / *before : *before / *after});
  }
  return proxies;
}

std::optional<Gain> measured_speed(const VerdictRow& reference, const VerdictRow& row) {
  return time_over(row, reference);
}

}  // namespace assay
