#include "report/records/energy_cells.h"

#include <fmt/format.h>

#include <cmath>

#include "base/units.h"
#include "statistics/statistics.h"

namespace assay {
namespace {

bool leaves_figure(const std::optional<double>& value, const std::optional<double>& bound) {
  return value && (!bound || !leaves_no_figure(*value, {*value - *bound, *value + *bound}));
}

/// Power has the share of uncertainty that its energy has.
std::optional<double> power_bound_w(const Energy& energy) {
  if (!energy.power_w || !energy.energy_uncertainty_j || energy.energy_j.value_or(0) <= 0) return std::nullopt;
  return *energy.power_w * *energy.energy_uncertainty_j / *energy.energy_j;
}

}  // namespace

Table::Cell within_bound(const std::string& what, const std::optional<double>& value,
                         const std::optional<double>& bound) {
  if (!value) return Absent{};
  if (!bound) return *value;
  if (leaves_figure(value, bound)) return Estimate{*value, *value - *bound, *value + *bound};
  return Absent{
      fmt::format("{}: its uncertainty of {} is ±100 % of it or more: no figure", what, format_significant(*bound))};
}

bool tells_energy(const Record& record) {
  return leaves_figure(record.energy->energy_j, record.energy->energy_uncertainty_j);
}

std::optional<double> told_energy_j(const Record& record) {
  return tells_energy(record) ? record.energy->energy_j : std::nullopt;
}

Table::Cell energy_cell(const Record& record) {
  return within_bound("energy", record.energy->energy_j, record.energy->energy_uncertainty_j);
}

Table::Cell net_energy_cell(const Record& record) {
  return within_bound("net energy", record.energy->energy_net_j, record.energy->energy_net_uncertainty_j);
}

Table::Cell power_cell(const Record& record) {
  return within_bound("power", record.energy->power_w, power_bound_w(*record.energy));
}

Table::Cell idle_power_cell(const Record& record) {
  if (!record.energy->energy_j) return Absent{};
  return within_bound("idle power", record.energy->idle_power_w, record.energy->idle_uncertainty_w);
}

}  // namespace assay
