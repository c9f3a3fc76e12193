#include "quality/loss.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace assay {
namespace {

Tensor tensor_of(Shape shape, const std::vector<float>& values) {
  Tensor tensor(DType::f32, std::move(shape));
  std::copy(values.begin(), values.end(), tensor.as<float>());
  return tensor;
}

TEST(NegativeLogLikelihood, IsTheFigureByHand) {
  // softmax(0, ln 2, ln 5) = 1/8, 2/8, 5/8
  const float logits[] = {0.0F, std::log(2.0F), std::log(5.0F)};
  EXPECT_NEAR(negative_log_likelihood(logits, 0), std::log(8.0), 1e-7);
  EXPECT_NEAR(negative_log_likelihood(logits, 1), std::log(4.0), 1e-7);
  EXPECT_NEAR(negative_log_likelihood(logits, 2), std::log(1.6), 1e-7);
}

TEST(NegativeLogLikelihood, OfEqualLogitsIsTheLogOfTheirNumber) {
  const std::vector<float> logits(50257, -3.5F);
  EXPECT_NEAR(negative_log_likelihood(logits, 17), std::log(50257.0), 1e-12);
}

TEST(NegativeLogLikelihood, NeitherOverflowsNorUnderflows) {
  const float logits[] = {-3e4F, 3e4F};
  EXPECT_EQ(negative_log_likelihood(logits, 1), 0);
  EXPECT_EQ(negative_log_likelihood(logits, 0), 6e4);
}

TEST(NegativeLogLikelihood, OfNotANumberIsNotANumber) {
  const float logits[] = {0, std::nanf(""), 1};
  EXPECT_TRUE(std::isnan(negative_log_likelihood(logits, 0)));
}

TEST(CrossEntropy, SkipsIgnoredLabels) {
  const Tensor logits = tensor_of({3, 2}, {0, 0, 0, std::log(3.0F), 5, 7});
  const std::int32_t labels[] = {0, 0, ignored_label};
  const Loss loss = cross_entropy(logits.view(), labels);
  EXPECT_EQ(loss.counted, 2);
  EXPECT_NEAR(loss.total, std::log(2.0) + std::log(4.0), 1e-7);
  EXPECT_NEAR(*loss.mean(), std::log(8.0) / 2, 1e-7);
}

TEST(CrossEntropy, OfNothingIsZero) {
  const Tensor logits = tensor_of({1, 2}, {1, 2});
  const std::int32_t labels[] = {ignored_label};
  EXPECT_EQ(cross_entropy(logits.view(), labels).counted, 0);
  EXPECT_FALSE(cross_entropy(logits.view(), labels).mean().has_value());
}

TEST(CrossEntropy, RefusesALabelOutsideTheClasses) {
  const Tensor logits = tensor_of({2, 2}, {1, 2, 3, 4});
  for (const std::int32_t wrong : {2, -1, -99, 30522}) {
    const std::int32_t labels[] = {0, wrong};
    try {
      cross_entropy(logits.view(), labels);
      FAIL() << wrong;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ExitCode::user);
      EXPECT_NE(std::string(e.what()).find("row 1"), std::string::npos) << e.what();
    }
  }
}

TEST(DefaultLabels, AreTheIdsWhereTheMaskIsOne) {
  const std::int32_t ids[] = {7, 8, 9};
  const std::uint8_t mask[] = {1, 1, 0};
  EXPECT_EQ(default_labels(ids, mask), (std::vector<std::int32_t>{7, 8, ignored_label}));
  EXPECT_EQ(default_labels(ids, {}), (std::vector<std::int32_t>{7, 8, 9}));
}

TEST(NextTokenLoss, ScoresEachPositionOnTheNextIdOfItsRow) {
  // Two rows of three ids over two classes; the probability of class 1 is 3/4 at every position.
  const float l = std::log(3.0F);
  const Tensor logits = tensor_of({2, 3, 2}, {0, l, 0, l, 0, l, 0, l, 0, l, 0, l});
  const std::int32_t labels[] = {0, 1, 1, 1, 0, ignored_label};
  // Row 0 is scored on 1, 1 and row 1 on 0: the first label of a row and ignored ones do not count, and the last
  // position of row 0 is not scored on the first id of row 1.
  const Loss loss = next_token_loss(logits.view(), labels);
  EXPECT_EQ(loss.counted, 3);
  EXPECT_NEAR(loss.total, 2 * std::log(4.0 / 3) + std::log(4.0), 1e-6);
}

TEST(NextTokenLoss, ReadsThePositionBeforeTheLabel) {
  const Tensor logits = tensor_of({1, 3, 2}, {9, 0, 0, 9, 4, 4});
  const std::int32_t labels[] = {1, 0, 1};
  EXPECT_NEAR(next_token_loss(logits.view(), labels).total, 2 * std::log1p(std::exp(-9.0)), 1e-9);
}

}  // namespace
}  // namespace assay
