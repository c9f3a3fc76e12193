#include "rules/range.h"

#include <algorithm>
#include <cmath>

namespace assay {

Range operator*(Range a, Range b) {
  const auto [low, high] = std::minmax({a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high});
  return {low, high};
}

Range operator/(Range a, Range b) {
  return a * Range{1 / b.high, 1 / std::max(b.low, 1e-300)};
}

Range scaled(Range range, double factor) {
  return {range.low * factor, range.high * factor};
}

bool may_equal(Range a, Range b, double slack) {
  const auto widened = [slack](Range range) {
    return Range{range.low - slack * std::abs(range.low), range.high + slack * std::abs(range.high)};
  };
  const Range x = widened(a);
  const Range y = widened(b);
  return x.low <= y.high && y.low <= x.high;
}

}  // namespace assay
