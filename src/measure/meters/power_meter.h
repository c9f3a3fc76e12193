#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "measure/energy.h"

namespace assay {

/// Watts over time as joules: straight lines between the samples (trapezoids).
class PowerIntegral {
 public:
  /// Samples at a time that is not after the last one are left out.
  void add(double at_s, double watts);
  double joules() const { return joules_; }
  /// Bound on the error of the straight lines where the power went one way between two samples.
  double missed_j() const { return missed_j_; }
  /// The joules up to `now_s`, the last power held since its sample.
  double joules_until(double now_s) const;
  double last_w() const { return last_w_; }

 private:
  std::optional<double> last_s_;
  double last_w_ = 0;
  double joules_ = 0;
  double missed_j_ = 0;
};

/// Reads watts; throws a lacking error that names the source where it stopped answering.
using ReadWatts = std::function<double()>;

struct PowerMeterOptions {
  ReadWatts read_watts;
  MeterTime time = real_meter_time();
};

/// Integrates a power over time. Its update period is facts': the joules of an integral change at every look, so that
/// watching them would say nothing. Throws what the first look throws.
std::unique_ptr<EnergyMeter> make_power_meter(PowerMeterOptions options, EnergyMeterFacts facts);

}  // namespace assay
