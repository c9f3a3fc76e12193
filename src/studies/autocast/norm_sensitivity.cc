#include "studies/autocast/norm_sensitivity.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "base/random.h"
#include "tensor/small_float.h"

namespace assay {
namespace {

constexpr std::int64_t norm_width = 768;
constexpr double usual_epsilon = 1e-5;
constexpr int draws = 16;

/// f32 in the terms of the small formats, for those figures that follow from a format's widths.
struct Widths {
  int exponent_bits;
  int mantissa_bits;
  int bias;
};

Widths widths_of(DType dtype) {
  if (dtype == DType::f32) return {8, 23, 127};
  const SmallFormat& format = dtype == DType::f16 ? f16_format : bf16_format;
  ASSAY_ASSERT(dtype == DType::f16 || dtype == DType::bf16);
  return {format.exponent_bits, format.mantissa_bits, format.bias};
}

/// The value of a pattern, sign bit 0.
float value_of(DType dtype, std::uint32_t pattern) {
  if (dtype == DType::f32) return std::bit_cast<float>(pattern);
  return decode(pattern, dtype == DType::f16 ? f16_format : bf16_format);
}

std::uint32_t infinity_pattern(DType dtype) {
  const Widths w = widths_of(dtype);
  return ((1U << w.exponent_bits) - 1) << w.mantissa_bits;
}

/// Arithmetic in which every result is rounded to the dtype.
struct Rounded {
  DType dtype;
  float operator()(float value) const { return round_to(dtype, value); }
  float add(float a, float b) const { return round_to(dtype, a + b); }
  float square(float a) const { return round_to(dtype, a * a); }
};

std::vector<float> normal_numbers(DType dtype, double mean, std::int64_t width, Random& random) {
  std::vector<float> numbers(static_cast<std::size_t>(width));
  for (float& number : numbers) number = round_to(dtype, static_cast<float>(mean + random.next_normal()));
  return numbers;
}

double mean_value(const std::vector<float>& x) {
  return std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
}

/// Mean of (x - center)^2, in f64.
double mean_square(const std::vector<float>& x, double center) {
  double total = 0;
  for (const float value : x) total += (value - center) * (value - center);
  return total / static_cast<double>(x.size());
}

struct NormOutcome {
  double largest_error = 0;
  bool overflow = false;
};

/// (x - center) / sqrt(mean((x - center)^2) + epsilon) in the dtype but for the sums, against f64.
NormOutcome normalise(DType dtype, const std::vector<float>& x, double exact_center) {
  const Rounded r{dtype};
  const float center = r(static_cast<float>(exact_center));
  NormOutcome outcome;
  float sum = 0;
  for (const float value : x) {
    const float square = r.square(r.add(value, -center));
    outcome.overflow |= std::isinf(square);
    sum += square;
  }
  const float variance = r(sum / static_cast<float>(x.size()));
  const float inverse = r(1 / std::sqrt(r.add(variance, r(usual_epsilon))));
  const double exact_inverse = 1 / std::sqrt(mean_square(x, exact_center) + usual_epsilon);
  for (const float value : x) {
    const double result = r(r.add(value, -center) * inverse);
    outcome.largest_error = std::max(outcome.largest_error, std::abs(result - (value - exact_center) * exact_inverse));
  }
  return outcome;
}

RsqrtRow rsqrt_row(DType dtype, double variance, double epsilon) {
  const Rounded r{dtype};
  RsqrtRow row;
  row.dtype = dtype;
  row.variance = variance;
  row.stored = r(static_cast<float>(variance));
  row.stored_error = std::abs(row.stored - variance);
  row.amplification = 0.5 * std::pow(variance + epsilon, -1.5);
  const float sum = r.add(static_cast<float>(row.stored), r(static_cast<float>(epsilon)));
  row.result = r(1 / std::sqrt(sum));
  row.relative_error = std::abs(row.result * std::sqrt(variance + epsilon) - 1);
  row.without_epsilon = std::abs(r(1 / std::sqrt(static_cast<float>(row.stored))) * std::sqrt(variance) - 1);
  return row;
}

EpsilonRow epsilon_row(DType dtype, double epsilon) {
  EpsilonRow row;
  row.dtype = dtype;
  row.epsilon = epsilon;
  row.stored = round_to(dtype, static_cast<float>(epsilon));
  row.subnormal = row.stored > 0 && row.stored < format_row(dtype).smallest_normal;
  row.relative_error = std::abs(row.stored / epsilon - 1);
  return row;
}

struct MeanVariance {
  double mean = 0;
  double variance = 0;
};

MeanVariance added_one_by_one(DType accumulator, const std::vector<float>& x) {
  const Rounded r{accumulator};
  const auto width = static_cast<float>(x.size());
  float sum = 0;
  for (const float value : x) sum = r.add(sum, r(value));
  const float mean = r(sum / width);
  float squares = 0;
  for (const float value : x) squares = r.add(squares, r.square(r.add(r(value), -mean)));
  return {mean, r(squares / width)};
}

WidthRow width_row(DType accumulator, std::int64_t width, std::uint64_t seed) {
  Random random(seed);  // The same numbers for every accumulator.
  double mean_square_error = 0;
  double variance_square_error = 0;
  for (int draw = 0; draw < draws; ++draw) {
    const std::vector<float> x = normal_numbers(DType::f16, 1, width, random);
    const double mean = mean_value(x);
    const MeanVariance found = added_one_by_one(accumulator, x);
    mean_square_error += std::pow(found.mean / mean - 1, 2) / draws;
    variance_square_error += std::pow(found.variance / mean_square(x, mean) - 1, 2) / draws;
  }
  return {accumulator, width, std::sqrt(mean_square_error), std::sqrt(variance_square_error)};
}

}  // namespace

std::vector<DType> norm_dtypes() {
  return {DType::f32, DType::f16, DType::bf16};
}

FormatRow format_row(DType dtype) {
  const Widths w = widths_of(dtype);
  const std::uint32_t one = static_cast<std::uint32_t>(w.bias) << w.mantissa_bits;
  FormatRow row;
  row.dtype = dtype;
  row.bits = 1 + w.exponent_bits + w.mantissa_bits;
  row.exponent_bits = w.exponent_bits;
  row.mantissa_bits = w.mantissa_bits;
  row.epsilon = static_cast<double>(value_of(dtype, one + 1)) - value_of(dtype, one);
  row.largest = value_of(dtype, infinity_pattern(dtype) - 1);
  row.smallest_normal = value_of(dtype, 1U << w.mantissa_bits);
  row.smallest_subnormal = value_of(dtype, 1);
  return row;
}

double first_overflowing_square(DType dtype) {
  std::uint32_t finite = 0;
  std::uint32_t overflows = infinity_pattern(dtype);
  while (overflows - finite > 1) {
    const std::uint32_t middle = finite + (overflows - finite) / 2;
    (std::isinf(Rounded{dtype}.square(value_of(dtype, middle))) ? overflows : finite) = middle;
  }
  return value_of(dtype, overflows);
}

std::vector<NormRow> norm_rows(std::uint64_t seed) {
  std::vector<NormRow> rows;
  for (const DType dtype : norm_dtypes()) {
    for (const double mean : {0.0, 10.0, 100.0, 300.0, 1000.0}) {
      Random random(seed);
      const std::vector<float> x = normal_numbers(dtype, mean, norm_width, random);
      const NormOutcome layer = normalise(dtype, x, mean_value(x));
      const NormOutcome rms = normalise(dtype, x, 0);
      rows.push_back({dtype, mean, layer.largest_error, rms.largest_error, layer.overflow, rms.overflow});
    }
  }
  return rows;
}

std::vector<RsqrtRow> rsqrt_rows(double epsilon) {
  std::vector<RsqrtRow> rows;
  for (const DType dtype : norm_dtypes()) {
    for (const double variance : {1.0, 1e-2, 1e-4, 1e-6, 1e-7, 1e-8})
      rows.push_back(rsqrt_row(dtype, variance, epsilon));
  }
  return rows;
}

std::vector<EpsilonRow> epsilon_rows() {
  std::vector<EpsilonRow> rows;
  for (const DType dtype : norm_dtypes()) {
    for (const double epsilon : {1e-5, 1e-6, 1e-8, 1e-12}) rows.push_back(epsilon_row(dtype, epsilon));
  }
  return rows;
}

std::vector<WidthRow> width_rows(std::uint64_t seed) {
  std::vector<WidthRow> rows;
  for (std::int64_t width = 64; width <= 16384; width *= 4) {
    for (const DType accumulator : norm_dtypes()) rows.push_back(width_row(accumulator, width, seed));
  }
  return rows;
}

NormSensitivity norm_sensitivity(std::uint64_t seed) {
  NormSensitivity s;
  for (const DType dtype : norm_dtypes()) s.formats.push_back(format_row(dtype));
  s.norms = norm_rows(seed);
  s.rsqrts = rsqrt_rows(usual_epsilon);
  s.epsilons = epsilon_rows();
  s.widths = width_rows(seed);
  return s;
}

}  // namespace assay
