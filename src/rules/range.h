#pragma once

namespace assay {

/// Between what and what a figure lies: a measured one at a point, a printed one wherever rounding may have come from
/// (0.7 is 0.65 to 0.75).
struct Range {
  double low = 0;
  double high = 0;
};
inline Range exactly(double value) {
  return {value, value};
}
Range operator*(Range a, Range b);
Range operator/(Range a, Range b);  ///< b > 0.
Range scaled(Range range, double factor);
/// Whether the two can be one figure, once each is widened by `slack` (0.05: 5 %).
bool may_equal(Range a, Range b, double slack = 0);

}  // namespace assay
