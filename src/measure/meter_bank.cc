#include "measure/meter_bank.h"

#include <fmt/format.h>

#include "base/error.h"

namespace assay {

MeterBank::MeterBank(const SamplingOptions& options) : options_(options) {
  meters_.push_back({options.meter});
  for (EnergyMeter* meter : options.other_meters) meters_.push_back({meter});
}

std::optional<double> MeterBank::read(Metered& one) {
  if (one.meter == nullptr || !one.fault.empty()) return std::nullopt;
  try {
    return one.meter->read_j();
  } catch (const Error& e) {
    one.fault = e.what();
    return std::nullopt;
  }
}

/// The run's own meter last, and first at the end: reading the others takes time that is not the window's.
void MeterBank::begin() {
  if (is_metered()) begin_load_ = read_counters(options_);
  for (auto one = meters_.rbegin(); one != meters_.rend(); ++one) {  // clang 14 rejects libstdc++'s std::views
    one->begin_j = read(*one);
    if (one->meter != nullptr) one->begin_missed_j = one->meter->missed_j();
  }
}

void MeterBank::end(double window_s, std::int64_t runs, Series& series) {
  series.other_energy.resize(meters_.size() - 1);
  for (std::size_t i = 0; i < meters_.size(); ++i) {
    Metered& one = meters_[i];
    const std::optional<double> end_j = read(one);
    if (!one.begin_j || !end_j) continue;
    std::optional<EnergySum>& sum = i == 0 ? series.energy : series.other_energy[i - 1];
    if (!sum) sum.emplace();
    const double window_j = *end_j - *one.begin_j;
    sum->add(one.meter->facts(), window_j, window_s, one.meter->missed_j() - one.begin_missed_j);
    if (i == 0) series.window_power_w.push_back(window_j / window_s);
    sum->runs += runs;
  }
  if (is_metered() && series.energy) series.energy->add_load(begin_load_, read_counters(options_));
}

void MeterBank::settle(Series& series) const {
  series.other_energy.resize(meters_.size() - 1);
  series.other_energy_faults.resize(meters_.size() - 1);
  for (std::size_t i = 0; i < meters_.size(); ++i) {
    const Metered& one = meters_[i];
    std::optional<EnergySum>& sum = i == 0 ? series.energy : series.other_energy[i - 1];
    std::string fault = one.fault;
    if (fault.empty() && sum && sum->stood_still(one.meter->facts()))
      fault = fmt::format("{}: the counter stood still", one.meter->facts().source);
    if (!fault.empty()) sum.reset();
    if (!fault.empty() && i == 0) series.window_power_w.clear();
    (i == 0 ? series.energy_fault : series.other_energy_faults[i - 1]) = fault;
  }
}

}  // namespace assay
