#include "studies/calibrate/scales.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <string>

namespace assay {
namespace {

double squared_error(const std::vector<float>& values, double scale) {
  double sum = 0;
  for (const float value : values) {
    const double rounded = std::clamp(std::nearbyint(value / scale), -127.0, 127.0) * scale;
    sum += (value - rounded) * (value - rounded);
  }
  return sum;
}

/// Magnitudes of a normal distribution at equal steps of probability, by Tukey's lambda.
std::vector<float> normal_values() {
  std::vector<float> values;
  for (int i = 1; i < 20000; ++i) {
    const double p = i / 20000.0;
    values.push_back(static_cast<float>((std::pow(p, 0.135) - std::pow(1 - p, 0.135)) / 0.1975));
  }
  return values;
}

std::map<std::string, double> by_method(const std::vector<float>& values, float largest) {
  std::map<std::string, double> scales;
  for (const StaticScale& choice : scale_choices(values, largest)) scales[choice.method] = choice.scale;
  return scales;
}

TEST(ScaleChoices, AreWhatTheirNamesSay) {
  std::vector<float> values(10000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i + 1) * (i % 2 == 0 ? 1 : -1);
  const std::map<std::string, double> scales = by_method(values, 12700);
  ASSERT_EQ(scales.size(), 5U);
  EXPECT_DOUBLE_EQ(scales.at("min-max"), 100) << "by the largest of all, not of those at hand";
  const double bin = 10000.0 / 2048;
  EXPECT_NEAR(scales.at("99.9 percentile") * 127, 9990, bin);
  EXPECT_NEAR(scales.at("99.99 percentile") * 127, 9999, bin);
}

TEST(ScaleChoices, OfLeastSquaresLeavesLessThanTheOthers) {
  std::vector<float> values = normal_values();
  values.push_back(60);  // An outlier that a scale must cut off.
  const std::map<std::string, double> scales = by_method(values, 60);
  const double least = squared_error(values, scales.at("least squares"));
  for (const auto& [method, scale] : scales) EXPECT_LE(least, 1.01 * squared_error(values, scale)) << method;
  EXPECT_DOUBLE_EQ(least_squares_scale(values, 60).scale, scales.at("least squares"));
}

TEST(ScaleChoices, OfEntropyCutsALongThinTailAndNoShortOne) {
  std::vector<float> values = normal_values();
  const double most = *std::max_element(values.begin(), values.end());
  EXPECT_GT(by_method(values, static_cast<float>(most)).at("entropy") * 127, 0.5 * most);
  values.push_back(100);
  EXPECT_LT(by_method(values, 100).at("entropy") * 127, 50);
}

TEST(ScaleChoices, OfNothingAreSteps) {
  const std::vector<float> nothing(100, 0.0F);
  EXPECT_EQ(by_method(nothing, 0), (std::map<std::string, double>{{"min-max", 1}}));
  EXPECT_EQ(by_method(nothing, 254), (std::map<std::string, double>{{"min-max", 2}}));
}

}  // namespace
}  // namespace assay
