#pragma once

#include <vector>

#include "measure/energy.h"

namespace assay {

/// A meter's figure over time, looked at every now and then, so that the energy of any stretch in between can be told
/// afterwards.
class EnergyTrack {
 public:
  /// Throws what the meter throws.
  void look(EnergyMeter& meter, double at_s);
  /// Joules from one moment to another by straight lines between looks; the figure before the first look and after the
  /// last is the nearest.
  double joules_between(double begin_s, double end_s) const;
  /// What EnergyMeter::missed_j() grew by from the last look before `begin_s` to the first after `end_s`.
  double missed_between(double begin_s, double end_s) const;
  bool empty() const { return points_.empty(); }
  void clear() { points_.clear(); }

 private:
  struct Point {
    double at_s;
    double joules;
    double missed_j;
  };
  double joules_at(double at_s) const;
  std::vector<Point>::const_iterator first_from(double at_s) const;
  std::vector<Point> points_;  ///< By time.
};

}  // namespace assay
