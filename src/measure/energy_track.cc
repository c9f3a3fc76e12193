#include "measure/energy_track.h"

#include <algorithm>

namespace assay {

void EnergyTrack::look(EnergyMeter& meter, double at_s) {
  if (!points_.empty() && at_s <= points_.back().at_s) return;
  const double joules = meter.read_j();
  points_.push_back({at_s, joules, meter.missed_j()});
}

std::vector<EnergyTrack::Point>::const_iterator EnergyTrack::first_from(double at_s) const {
  return std::lower_bound(points_.begin(), points_.end(), at_s,
                          [](const Point& point, double time_s) { return point.at_s < time_s; });
}

double EnergyTrack::joules_at(double at_s) const {
  const auto after = first_from(at_s);
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

double EnergyTrack::missed_between(double begin_s, double end_s) const {
  if (points_.empty()) return 0;
  const auto begin = first_from(begin_s);
  const auto end = first_from(end_s);
  const Point& before = begin == points_.begin() ? *begin : *(begin - 1);
  const Point& after = end == points_.end() ? points_.back() : *end;
  return after.missed_j - before.missed_j;
}

}  // namespace assay
