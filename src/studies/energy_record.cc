#include "studies/energy_record.h"

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

void record_meter(const EnergyMeterFacts& meter, Record& record) {
  record.energy_source = meter.source;
  record.energy_unit = meter.unit;
  record.energy_resolution_j = meter.resolution_j;
  record.energy_update_s = meter.update_period_s;
  record.power_limit_w = meter.limit_w;
}

}  // namespace

void record_net(const IdlePower& idle, double seconds, Record& record) {
  record.idle_power_w = idle.watts;
  record.energy_net_j = *record.energy_j - idle.watts * seconds;
  record.energy_net_uncertainty_j = *record.energy_uncertainty_j + idle.uncertainty_w * seconds;
}

Power find_power(const EnergyRequest& request) {
  Power power{find_meters(request.meters), std::nullopt};
  if (!power.source.meter) return power;
  try {
    power.idle = measure_idle_power(*power.source.meter);
  } catch (const Error& e) {
    power.source = {nullptr, fmt::format("no meter: {}", e.what())};
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
}

void record_energy(const Series& series, const Power& power, Record& record) {
  record.energy_status = series.energy_fault.empty() ? power.source.status : "no meter: " + series.energy_fault;
  const auto batch = static_cast<double>(record.batch);
  const std::size_t others = std::min(series.other_energy.size(), power.source.others.size());
  for (std::size_t i = 0; i < others; ++i) {
    const auto& sum = series.other_energy[i];
    const EnergyMeterFacts& meter = power.source.others[i]->facts();
    if (!series.other_energy_faults[i].empty()) record.other_energy.push_back(series.other_energy_faults[i]);
    if (!sum || sum->runs == 0) continue;
    record.other_energy.push_back(reading(meter, *sum, batch * static_cast<double>(sum->runs)));
  }
  if (!series.energy || series.energy->runs == 0 || !power.source.meter) return;
  const EnergySum& sum = *series.energy;
  const auto runs = static_cast<double>(sum.runs);
  record_meter(power.source.meter->facts(), record);
  record.energy_j = sum.joules / runs / batch;
  record.energy_uncertainty_j = sum.uncertainty_j / runs / batch;
  record.power_w = sum.joules / sum.seconds;
  record.energy_short_share = static_cast<double>(sum.short_windows) / sum.windows;
  record.energy_conflict = conflict_of(series, power);
  if (power.idle) record_net(*power.idle, sum.seconds / runs / batch, record);
}

void record_prices(const EnergyRequest& request, Record& record) {
  record.price_per_kwh = request.price_per_kwh;
  record.carbon_g_per_kwh = request.carbon_g_per_kwh;
}

}  // namespace assay
