#pragma once

#include <optional>
#include <span>
#include <vector>

#include "results/figure.h"
#include "results/record.h"

namespace assay {

/// A figure of a record along x, with its interval where it has one.
std::optional<Figure::Point> measured_point(const std::optional<double>& value, const std::optional<double>& low = {},
                                            const std::optional<double>& high = {});

/// How a chart shows quality.
struct QualityMeasure {
  const char* name;
  const char* title;  ///< Of its axis.
  Figure::Scale scale;
  double sign;  ///< +1: higher is better.
  /// The interval is that of the change from the baseline, on the same data.
  std::optional<Figure::Point> (*point)(const Record& record);
};
/// Those that these records have, in the order of the list; the last of all where they have none.
std::vector<const QualityMeasure*> quality_measures(std::span<const Record* const> records);
/// The first of them.
const QualityMeasure& quality_measure(std::span<const Record* const> records);

}  // namespace assay
