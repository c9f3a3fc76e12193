#pragma once

#include <algorithm>
#include <vector>

namespace assay {

/// The highest rate that several readings of it leave possible: the highest one, and as much above it as they differ
/// among themselves. On shared machines single readings of memory were 47 and 74 GB/s within the hour: one maximum is
/// no bound. Of none: 0.
inline double upper_end(const std::vector<double>& readings) {
  if (readings.empty()) return 0;
  const auto [least, most] = std::minmax_element(readings.begin(), readings.end());
  return 2 * *most - *least;
}

}  // namespace assay
