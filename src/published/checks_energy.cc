#include <algorithm>
#include <cmath>

#include "published/checks.h"
#include "published/row_figures.h"

namespace assay {
namespace {

std::string power_figures(const Observation& row, Range power) {
  return fmt::format("{} / {} = {} W", shown(*row.find(Quantity::energy)), shown(*row.find(Quantity::latency)),
                     shown(power));
}

/// Duration of the fastest other row of the group, and the median power of the others.
struct Others {
  double fastest_ms = 0;
  bool agree = false;  ///< Two or more of them draw about the same: one that lies makes no other idle.
  double power_w = 0;
};

Others others_of(const PublishedTable& table, const std::vector<const Observation*>& group, const Observation& row) {
  Others others;
  std::vector<double> powers;
  for (const Observation* other : group) {
    const Measured* time = other->find(Quantity::latency);
    if (other == &row || !time || time->figure.value <= 0) continue;
    if (others.fastest_ms == 0 || time->figure.value < others.fastest_ms) others.fastest_ms = time->figure.value;
    if (const auto power = implied_power(table, *other)) powers.push_back(middle(*power));
  }
  if (!powers.empty()) {
    std::nth_element(powers.begin(), powers.begin() + std::ssize(powers) / 2, powers.end());
    others.power_w = powers[powers.size() / 2];
    const auto ends = std::minmax_element(powers.begin(), powers.end());
    others.agree = powers.size() > 1 && *ends.second < 2 * *ends.first;
  }
  return others;
}

void check_idle_row(const PublishedTable& table, const std::vector<const Observation*>& group, const Observation& row,
                    Complaints& say) {
  const auto power = implied_power(table, row);
  if (!power) return;
  const Others others = others_of(table, group, row);
  const double slower = others.fastest_ms > 0 ? row.find(Quantity::latency)->figure.value / others.fastest_ms : 0;
  const bool is_idle = row.device && power->low <= 1.1 * row.device->awake_w;
  const bool is_low = others.agree && power->high <= 0.6 * others.power_w;
  if (!(is_idle || is_low) || !(slower >= 3 || (runs_on_cpu(row) && is_idle))) return;
  std::string sentence = fmt::format("{} W is what a GPU draws that waits", shown(*power));
  if (is_idle) {
    sentence += fmt::format(" (a {} idles at {} to {} W)", row.device->name, shown(row.device->idle_w),
                            shown(row.device->awake_w));
  } else {
    sentence += fmt::format(" (the other rows draw {} W)", shown(others.power_w));
  }
  if (slower > 1) sentence += fmt::format(", over {}x the fastest row's time", shown(slower));
  sentence += ": the energy is of an idle GPU while the CPU worked.";
  say.figure(*row.find(Quantity::energy), std::move(sentence), power_figures(row, *power));
}

}  // namespace

std::optional<double> batch_of(const PublishedTable& table, const Observation& row) {
  if (const Measured* batch = row.find(Quantity::batch)) return batch->figure.value;
  return table.batch;
}

std::optional<Range> implied_power(const PublishedTable& table, const Observation& row) {
  const auto energy = row.absolute(Quantity::energy);
  const auto time = row.absolute(Quantity::latency);
  if (!energy || !time || energy->low <= 0 || time->low <= 0) return std::nullopt;
  Range power = scaled(*energy / *time, 1e3);
  const double batch = batch_of(table, row).value_or(1);
  if (batch > 1) power.high *= batch;
  return power;
}

void check_idle_device(const PublishedTable& table, Complaints& say) {
  for (const auto& group : table.groups()) {
    for (const Observation* row : group) check_idle_row(table, group, *row, say);
  }
}

}  // namespace assay
