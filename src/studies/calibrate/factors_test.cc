#include "studies/calibrate/factors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <numeric>
#include <random>

namespace assay {
namespace {

constexpr std::int64_t problem_rows = 24;
constexpr std::int64_t problem_width = 16;
constexpr std::int64_t problem_outputs = 20;

Tensor normal_tensor(std::int64_t rows, std::int64_t width, std::mt19937& random) {
  std::normal_distribution<float> normal;
  Tensor values(DType::f32, {rows, width});
  for (std::int64_t i = 0; i < values.count(); ++i) values.as<float>()[i] = normal(random);
  return values;
}

/// Channels that differ in size by orders of magnitude, and two of which share a row where `is_shared`.
class FactorsOfPlace : public testing::TestWithParam<bool> {
 protected:
  FactorsOfPlace() {
    std::mt19937 random(7);
    rows_ = normal_tensor(problem_rows, problem_width, random);
    for (std::int64_t i = 0; i < rows_.count(); ++i)
      rows_.as<float>()[i] *= std::pow(2.0F, static_cast<float>(i % problem_width % 7));
    place_.width = problem_width;
    place_.rows = GetParam() ? problem_width / 2 : problem_width;
    place_.channels.resize(problem_width);
    std::iota(place_.channels.begin(), place_.channels.end(), 0);
    if (GetParam()) {
      for (std::int32_t& channel : place_.channels) channel /= 2;
    }
    for (int layer = 0; layer < 2; ++layer) {
      matrices_.push_back(normal_tensor(problem_outputs, problem_width, random));
      outputs_.push_back(product(matrices_.back()));
    }
  }

  FactorProblem problem() const { return {place_, rows_, matrices_, outputs_}; }

  std::vector<float> ones() const { return std::vector<float>(static_cast<std::size_t>(place_.rows), 1.0F); }

 private:
  Tensor product(const Tensor& matrix) const {
    Tensor outputs(DType::f32, {problem_rows, problem_outputs});
    for (std::int64_t t = 0; t < problem_rows; ++t) {
      for (std::int64_t i = 0; i < problem_outputs; ++i) {
        float sum = 0;
        for (std::int64_t c = 0; c < problem_width; ++c)
          sum += rows_.as<float>()[t * problem_width + c] * matrix.as<float>()[i * problem_width + c];
        outputs.as<float>()[t * problem_outputs + i] = sum;
      }
    }
    return outputs;
  }

  LinearPlace place_;
  Tensor rows_;
  std::vector<Tensor> matrices_;
  std::vector<Tensor> outputs_;
};

TEST_P(FactorsOfPlace, NoFactorMovedByItselfMakesTheErrorMuchLess) {
  const FactorProblem problem = this->problem();
  const std::vector<float> found = descended_factors(problem, ones());
  const double least = expected_error(problem, found);
  EXPECT_LT(least, 0.8 * expected_error(problem, ones()));
  for (std::size_t i = 0; i < found.size(); ++i) {
    for (const float by : {0.5F, 0.8F, 1.25F, 2.0F}) {
      std::vector<float> moved = found;
      moved[i] *= by;
      EXPECT_GT(expected_error(problem, moved), 0.99 * least) << i << " by " << by;
    }
  }
}

TEST_P(FactorsOfPlace, TheStartDecidesLittle) {
  const FactorProblem problem = this->problem();
  std::vector<float> other = ones();
  for (std::size_t i = 0; i < other.size(); ++i) other[i] = i % 2 == 0 ? 0.25F : 4.0F;
  const double from_ones = expected_error(problem, descended_factors(problem, ones()));
  EXPECT_NEAR(expected_error(problem, descended_factors(problem, other)), from_ones, 0.03 * from_ones);
}

INSTANTIATE_TEST_SUITE_P(Channels, FactorsOfPlace, testing::Bool());

}  // namespace
}  // namespace assay
