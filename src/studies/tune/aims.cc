#include "studies/tune/aims.h"

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <variant>

#include "rules/verdict.h"

namespace assay {
namespace {

Table::Cell time_of_run(const TimedPoint& timed) {
  if (timed.record == nullptr) return Absent{"not timed"};
  const Latency& latency = *timed.record->latency;
  return estimate_or_absent(latency.median_ms, latency.ci_low_ms, latency.ci_high_ms, "not timed");
}

/// With the meter's bounds.
Table::Cell energy_of_sequence(const TimedPoint& timed) {
  if (timed.record == nullptr) return Absent{"not timed"};
  if (!timed.energy_doubt.empty()) return Absent{timed.energy_doubt};
  const double joules = *timed.record->energy->energy_j;
  const double bound = timed.record->energy->energy_uncertainty_j.value_or(0);
  return Estimate{joules, joules - bound, joules + bound};
}

Table::Cell stored_size(const TimedPoint& timed) {
  return timed.point.model_bytes > 0 ? Table::Cell(timed.point.model_bytes) : Table::Cell(Absent{"not scored"});
}

/// In the order of Aim.
constexpr AimFacts all_aim_facts[] = {
    {"latency", "ms", "faster", "as fast", &UnitCost::fp32_ms, &UnitCost::low_ms, time_of_run},
    {"decode", "ms", "faster", "as fast", &UnitCost::fp32_ms, &UnitCost::low_ms, time_of_run},
    {"energy", "J", "thriftier", "as thrifty", &UnitCost::fp32_j, &UnitCost::low_j, energy_of_sequence},
    {"bytes", "bytes", "smaller", "as small", &UnitCost::fp32_bytes, &UnitCost::low_bytes, stored_size}};
static_assert(std::size(all_aim_facts) == static_cast<std::size_t>(Aim::bytes) + 1);

}  // namespace

const AimFacts& facts_of(Aim aim) {
  return all_aim_facts[static_cast<std::size_t>(aim)];
}

TimedPoint timed_point(const Tuning& tuning, const TunePoint& point, const Document& timed) {
  TimedPoint found{tuning, point, record_for(tuning, point.precision, timed.records)};
  if (found.record != nullptr) found.energy_doubt = energy_doubt(*found.record, timed.findings);
  return found;
}

std::optional<double> figure_number(const Table::Cell& figure) {
  if (const auto* estimate = std::get_if<Estimate>(&figure)) return estimate->value;
  if (const auto* count = std::get_if<std::int64_t>(&figure)) return static_cast<double>(*count);
  const auto* number = std::get_if<double>(&figure);
  return number == nullptr ? std::nullopt : std::optional(*number);
}

}  // namespace assay
