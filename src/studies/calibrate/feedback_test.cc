#include "studies/calibrate/feedback.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <random>

namespace assay {
namespace {

/// Inputs whose channels go together, so that one weight can make good for another.
Tensor correlated_inputs(std::int64_t count, std::int64_t width) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  Tensor inputs(DType::f32, {count, width});
  for (std::int64_t t = 0; t < count; ++t) {
    const float common = normal(random);
    for (std::int64_t c = 0; c < width; ++c)
      inputs.as<float>()[t * width + c] = (common + 0.3F * normal(random)) * static_cast<float>(1 + c % 5);
  }
  return inputs;
}

Tensor moments_of(const Tensor& inputs) {
  const std::int64_t width = inputs.shape()[1];
  Tensor moments(DType::f32, {width, width});
  for (std::int64_t i = 0; i < width; ++i) {
    for (std::int64_t j = 0; j < width; ++j) {
      double sum = 0;
      for (std::int64_t t = 0; t < inputs.shape()[0]; ++t)
        sum += static_cast<double>(inputs.as<float>()[t * width + i]) * inputs.as<float>()[t * width + j];
      moments.as<float>()[i * width + j] = static_cast<float>(sum);
    }
  }
  return moments;
}

Tensor some_matrix(std::int64_t rows, std::int64_t width) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  Tensor matrix(DType::f32, {rows, width});
  for (std::int64_t i = 0; i < matrix.count(); ++i) matrix.as<float>()[i] = normal(random);
  return matrix;
}

RowCodes nearest_codes(const Tensor& matrix) {
  const std::int64_t width = matrix.shape()[1];
  RowCodes result;
  for (std::int64_t i = 0; i < matrix.shape()[0]; ++i) {
    const float* const row = matrix.as<float>() + i * width;
    float most = 0;
    for (std::int64_t j = 0; j < width; ++j) most = std::max(most, std::abs(row[j]));
    result.scales.push_back(most / 127);
    for (std::int64_t j = 0; j < width; ++j)
      result.codes.push_back(static_cast<std::int8_t>(std::nearbyint(row[j] / (most / 127))));
  }
  return result;
}

/// Of the outputs on those inputs.
double output_error(const Tensor& matrix, const RowCodes& coded, const Tensor& inputs) {
  const std::int64_t width = matrix.shape()[1];
  double sum = 0;
  for (std::int64_t i = 0; i < matrix.shape()[0]; ++i) {
    for (std::int64_t t = 0; t < inputs.shape()[0]; ++t) {
      double error = 0;
      for (std::int64_t j = 0; j < width; ++j) {
        const auto at = static_cast<std::size_t>(i * width + j);
        const float value = static_cast<float>(coded.codes[at]) * coded.scales[static_cast<std::size_t>(i)];
        error += static_cast<double>(matrix.as<float>()[at] - value) * inputs.as<float>()[t * width + j];
      }
      sum += error * error;
    }
  }
  return sum;
}

/// More columns than a block of the factorisation, and not a multiple of one.
constexpr std::int64_t odd_width = 75;

TEST(ErrorFeedback, MakesOutputsNearerThanNearestCodes) {
  const Tensor inputs = correlated_inputs(300, odd_width);
  const Tensor matrix = some_matrix(19, odd_width);
  const RowCodes coded = ErrorFeedback(moments_of(inputs)).rounded(matrix);
  EXPECT_LT(output_error(matrix, coded, inputs), 0.5 * output_error(matrix, nearest_codes(matrix), inputs));
}

TEST(ErrorFeedback, IsRoundingToNearestWhereChannelsGoAlone) {
  Tensor moments(DType::f32, {odd_width, odd_width});
  std::fill_n(moments.as<float>(), moments.count(), 0.0F);
  for (std::int64_t i = 0; i < odd_width; ++i) moments.as<float>()[i * odd_width + i] = static_cast<float>(1 + i % 3);
  const Tensor matrix = some_matrix(5, odd_width);
  EXPECT_EQ(ErrorFeedback(moments).rounded(matrix).codes, nearest_codes(matrix).codes);
}

/// What is written as values is quantised once more when a model is loaded.
TEST(ErrorFeedback, CodesAreTheSameWhenTheirValuesAreQuantised) {
  const Tensor inputs = correlated_inputs(300, odd_width);
  const RowCodes coded = ErrorFeedback(moments_of(inputs)).rounded(some_matrix(19, odd_width));
  Tensor values(DType::f32, {19, odd_width});
  for (std::size_t i = 0; i < coded.codes.size(); ++i)
    values.as<float>()[i] = static_cast<float>(coded.codes[i]) * coded.scales[i / static_cast<std::size_t>(odd_width)];
  EXPECT_EQ(nearest_codes(values).codes, coded.codes);
}

TEST(ErrorFeedback, TakesRowsAndChannelsOfNothing) {
  Tensor moments(DType::f32, {4, 4});
  std::fill_n(moments.as<float>(), 16, 0.0F);
  Tensor matrix(DType::f32, {2, 4});
  std::fill_n(matrix.as<float>(), 8, 0.0F);
  matrix.as<float>()[6] = -2;
  const RowCodes coded = ErrorFeedback(moments).rounded(matrix);
  EXPECT_EQ(coded.codes, (std::vector<std::int8_t>{0, 0, 0, 0, 0, 0, -127, 0}));
  EXPECT_EQ(coded.scales[0], 1);
}

}  // namespace
}  // namespace assay
