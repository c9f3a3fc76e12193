#include "measure/energy_track.h"

#include <algorithm>

namespace assay {

void EnergyTrack::look(EnergyMeter& meter, double at_s) {
  if (!points_.empty() && at_s <= points_.back().at_s) return;
  points_.push_back({at_s, meter.read_j()});
}

double EnergyTrack::joules_at(double at_s) const {
  const auto after = std::lower_bound(points_.begin(), points_.end(), at_s,
                                      [](const Point& point, double time_s) { return point.at_s < time_s; });
  if (after == points_.begin()) return after->joules;
  const Point& before = *(after - 1);
  if (after == points_.end()) return before.joules;
  const double share = (at_s - before.at_s) / (after->at_s - before.at_s);
  return before.joules + share * (after->joules - before.joules);
}

double EnergyTrack::joules_between(double begin_s, double end_s) const {
  if (points_.empty()) return 0;
  return joules_at(end_s) - joules_at(begin_s);
}

}  // namespace assay
