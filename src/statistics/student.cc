#include "statistics/student.h"

#include <cmath>

#include "base/error.h"

namespace assay {
namespace {

/// The continued fraction of the incomplete beta function by Lentz's method; converges fast for x < (a + 1) / (a + b +
/// 2).
double beta_fraction(double a, double b, double x) {
  constexpr double tiny = 1e-300;
  constexpr int most_terms = 1000;
  const auto inverse = [](double value) { return 1 / (std::abs(value) > tiny ? value : tiny); };
  double c = 1;
  double d = inverse(1 - (a + b) * x / (a + 1));
  double fraction = d;
  for (int m = 1; m < most_terms; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = inverse(1 + even * d);
    c = 1 + even / c;
    fraction *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = inverse(1 + odd * d);
    c = 1 + odd / c;
    fraction *= d * c;
    if (std::abs(d * c - 1) < 1e-15) break;
  }
  return fraction;
}

/// I_x(a, b), 0 < x < 1.
double incomplete_beta(double a, double b, double x) {
  const double front =
      std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log1p(-x));
  if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
  return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

}  // namespace

double student_tail(double t, double degrees) {
  ASSAY_ASSERT(degrees >= 1);
  if (t == 0) return 1;
  const double x = degrees / (degrees + t * t);
  return x > 0 ? incomplete_beta(degrees / 2, 0.5, x) : 0;
}

double student_bound(double p, double degrees) {
  ASSAY_ASSERT(p > 0 && p < 1);
  double low = 0;
  double high = 1;
  while (student_tail(high, degrees) > p) high *= 2;
  for (int step = 0; step < 200 && high - low > 1e-12 * high; ++step) {
    const double middle = (low + high) / 2;
    (student_tail(middle, degrees) > p ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace assay
