#include "report/records/quality_measure.h"

#include <algorithm>
#include <cmath>

namespace assay {
namespace {

std::optional<Figure::Point> perplexity_point(const Record& r) {
  std::optional<Figure::Point> point = measured_point(r.quality->perplexity);
  const Difference& change = *r.difference;
  if (point && change.delta_log_perplexity && change.delta_log_perplexity_low && change.delta_log_perplexity_high) {
    point->low = point->x * std::exp(*change.delta_log_perplexity_low - *change.delta_log_perplexity);
    point->high = point->x * std::exp(*change.delta_log_perplexity_high - *change.delta_log_perplexity);
  }
  return point;
}

std::optional<Figure::Point> accuracy_point(const Record& r) {
  if (!r.quality->accuracy) return std::nullopt;
  Figure::Point point{.x = 100 * *r.quality->accuracy};
  const Difference& change = *r.difference;
  if (change.accuracy_change && change.accuracy_change_low && change.accuracy_change_high) {
    point.low = point.x + 100 * (*change.accuracy_change_low - *change.accuracy_change);
    point.high = point.x + 100 * (*change.accuracy_change_high - *change.accuracy_change);
  }
  return point;
}

std::optional<Figure::Point> correlation_point(const Record& r) {
  return measured_point(r.difference->score_pearson);
}

constexpr QualityMeasure measures[] = {
    {"perplexity", "perplexity (lower is better)", Figure::Scale::logarithmic, -1, perplexity_point},
    {"accuracy", "accuracy, % (higher is better)", Figure::Scale::linear, 1, accuracy_point},
    {"scores", "Pearson's r with the baseline's scores (higher is better)", Figure::Scale::linear, 1,
     correlation_point}};

}  // namespace

std::optional<Figure::Point> measured_point(const std::optional<double>& value, const std::optional<double>& low,
                                            const std::optional<double>& high) {
  if (!value) return std::nullopt;
  return Figure::Point{.x = *value, .low = low, .high = high};
}

std::vector<const QualityMeasure*> quality_measures(std::span<const Record* const> records) {
  std::vector<const QualityMeasure*> found;
  for (const QualityMeasure& measure : measures) {
    const bool is_there = std::any_of(records.begin(), records.end(),
                                      [&](const Record* record) { return measure.point(*record).has_value(); });
    if (is_there) found.push_back(&measure);
  }
  if (found.empty()) found.push_back(&measures[2]);
  return found;
}

const QualityMeasure& quality_measure(std::span<const Record* const> records) {
  return *quality_measures(records).front();
}

}  // namespace assay
