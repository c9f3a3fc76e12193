#include "studies/shared/energy_record.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/units.h"
#include "kernels/gpu_bus_id.h"
#include "measure/energy_apart.h"

namespace assay {
namespace {

std::string reading(const EnergyMeterFacts& meter, const EnergySum& sum, double units) {
  return fmt::format("{} ({}): {} J ± {}", meter.name, meter.scope, format_significant(sum.joules / units),
                     format_significant(sum.uncertainty_j / units));
}

/// The first two meters that contradict each other.
std::optional<std::string> conflict_of(const Series& series, const Power& power) {
  std::vector<std::pair<const EnergyMeterFacts*, const EnergySum*>> read;
  if (series.energy) read.emplace_back(&power.source.meter->facts(), &*series.energy);
  const std::size_t others = std::min(series.other_energy.size(), power.source.others.size());
  for (std::size_t i = 0; i < others; ++i) {
    if (series.other_energy[i]) read.emplace_back(&power.source.others[i]->facts(), &*series.other_energy[i]);
  }
  for (std::size_t a = 0; a < read.size(); ++a) {
    for (std::size_t b = a + 1; b < read.size(); ++b) {
      auto said = meters_disagree(*read[a].first, *read[a].second, *read[b].first, *read[b].second);
      if (said) return said;
    }
  }
  return std::nullopt;
}

/// Whether there is a sum to speak of.
bool was_metered(const Series& series, const Power& power) {
  return series.energy && series.energy->runs > 0 && power.source.meter;
}

std::vector<std::string> other_readings(const Series& series, const Power& power, double batch) {
  std::vector<std::string> readings;
  const std::size_t others = std::min(series.other_energy.size(), power.source.others.size());
  for (std::size_t i = 0; i < others; ++i) {
    const auto& sum = series.other_energy[i];
    if (!series.other_energy_faults[i].empty()) readings.push_back(series.other_energy_faults[i]);
    if (!sum || sum->runs == 0) continue;
    readings.push_back(reading(power.source.others[i]->facts(), *sum, batch * static_cast<double>(sum->runs)));
  }
  return readings;
}

}  // namespace

EnergyStatus status_of(const EnergySource& source) {
  return {source.meter ? EnergyState::metered : EnergyState::no_meter, source.words};
}

void set_energy(const EnergyOfOne& one, const Series& series, const Power& power, Energy& energy) {
  const EnergyFigures figures = energy_figures(one, *series.energy, power.source.meter->facts(), power.idle);
  energy.energy_j = figures.gross_j;
  energy.energy_uncertainty_j = figures.gross_bound_j;
  energy.energy_net_j = figures.net_j;
  energy.energy_net_uncertainty_j = figures.net_bound_j;
}

void read_idle_again(Power& power, InterruptFlag interrupted) {
  if (!power.source.meter || !power.idle || is_set(interrupted)) return;
  const IdlePower before = power.last_idle.value_or(*power.idle);
  try {
    power.last_idle = measure_idle_power(*power.source.meter);
    if (has_stopped(before, *power.last_idle)) {
      power = {.source = {nullptr, power.source.meter->facts().source + ": the counter stood still after the run"}};
      return;
    }
    power.idle = idle_between(before, *power.last_idle);
  } catch (const Error&) {  // The windows were metered, and the baseline before them stands.
  }
}

Power find_power(const EnergyRequest& request) {
  Power power{.source = find_meters(request.meters)};
  if (!power.source.meter) return power;
  try {
    power.idle = measure_idle_power(*power.source.meter);
  } catch (const Error& e) {
    power.source = {nullptr, e.what()};
  }
  return power;
}

EnergyRequest energy_on(const std::string& device, const std::filesystem::path& root, EnergyRequest request) {
  request.meters.root = root;
  if (device == "cuda") request.meters.gpu_bus_id = gpu_bus_id();
  request.meters.work = device == "cuda" ? MeteredWork::gpu : MeteredWork::processor;
  return request;
}

void meter_windows(const EnergyRequest& request, const Power& power, SamplingOptions& options) {
  for (const auto& other : power.source.others) options.other_meters.push_back(other.get());
  if (!power.source.meter) return;
  options.meter = power.source.meter.get();
  const EnergyPlan plan =
      plan_energy(options.meter->facts(), power.idle.value_or(IdlePower{}).watts, request.uncertainty, options.seconds);
  (plan.where == EnergyPlan::apart ? options.energy_window_s : options.least_window_s) = plan.window_s;
  options.cool_down_s = request.cool_down_s;
  if (power.idle) options.usual_processors = power.idle->busy_processors;
}

Energy metered_by(const Series& series, const Power& power) {
  Energy energy;
  energy.energy_status =
      series.energy_fault.empty() ? status_of(power.source) : EnergyStatus{EnergyState::no_meter, series.energy_fault};
  if (!was_metered(series, power)) return energy;
  const EnergyMeterFacts& meter = power.source.meter->facts();
  energy.energy_source = meter.source;
  energy.energy_unit = meter.unit;
  energy.energy_resolution_j = meter.resolution_j;
  energy.energy_update_s = meter.update_period_s;
  energy.power_limit_w = meter.limit_w;
  energy.energy_foreign_processors = series.energy->foreign_processors();
  if (!power.idle) return energy;
  energy.idle_power_w = power.idle->watts;
  energy.idle_uncertainty_w = power.idle->uncertainty_w;
  energy.idle_before_w = power.idle->before_w.value_or(power.idle->watts);
  energy.idle_after_w = power.idle->after_w;
  energy.idle_busy_processors = power.idle->busy_processors;
  return energy;
}

Energy energy_of(const Series& series, const Power& power, std::int64_t sequences) {
  const auto batch = static_cast<double>(sequences);
  Energy energy = metered_by(series, power);
  energy.window_power_w = series.window_power_w;
  energy.other_energy = other_readings(series, power, batch);
  if (!was_metered(series, power)) return energy;
  const EnergySum& sum = *series.energy;
  set_energy(energy_of_one(series, batch), series, power, energy);
  energy.energy_repeats = series.energy_repeats;
  energy.power_w = sum.joules / sum.seconds;
  energy.energy_short_share = static_cast<double>(sum.short_windows) / sum.windows;
  energy.energy_conflict = conflict_of(series, power);
  return energy;
}

void set_prices(const EnergyRequest& request, Energy& energy) {
  energy.price_per_kwh = request.price_per_kwh;
  energy.carbon_g_per_kwh = request.carbon_g_per_kwh;
}

}  // namespace assay
