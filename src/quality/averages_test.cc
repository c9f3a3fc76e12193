#include "quality/averages.h"

#include <gtest/gtest.h>

#include <cmath>

namespace assay {
namespace {

// Two rows of four ids. The first has two real ids and is then padded, the second is whole.
PositionLosses made_up_losses() {
  return {2, 4, {6.0, 9.0, 0.5, 1.0, 2.0, 3.0}, {1, 1, 0, 0, 1, 1, 1, 1}};
}

TEST(Averages, OverTokensCountEveryRealPredictionOnce) {
  const Average a = average(made_up_losses(), {});
  EXPECT_EQ(a.scored, 4);
  EXPECT_EQ(a.padding, 0);
  EXPECT_DOUBLE_EQ(a.nll, (6.0 + 1 + 2 + 3) / 4);
}

TEST(Averages, ScoredPaddingAddsItsPredictions) {
  AverageOptions options;
  options.padding = PaddingScored::yes;
  const Average a = average(made_up_losses(), options);
  EXPECT_EQ(a.scored, 6);
  EXPECT_EQ(a.padding, 2);
  EXPECT_DOUBLE_EQ(a.nll, (6.0 + 9 + 0.5 + 1 + 2 + 3) / 6);
}

TEST(Averages, OverBatchesShortRowsWeighAsMuchAsLongOnes) {
  AverageOptions options;
  options.averaging = Averaging::batch_losses;
  EXPECT_DOUBLE_EQ(average(made_up_losses(), options).nll, (6.0 + (1 + 2 + 3) / 3.0) / 2);
  options.batch = 2;  // one batch: nothing is left to be averaged wrongly
  EXPECT_DOUBLE_EQ(average(made_up_losses(), options).nll, (6.0 + 1 + 2 + 3) / 4);
}

TEST(Averages, OfPerplexitiesAreNeverBelowThoseOfLosses) {
  AverageOptions options;
  options.averaging = Averaging::batch_perplexities;
  const double nll = average(made_up_losses(), options).nll;
  EXPECT_NEAR(std::exp(nll), (std::exp(6.0) + std::exp(2.0)) / 2, 1e-10);
  options.averaging = Averaging::batch_losses;
  EXPECT_GT(nll, average(made_up_losses(), options).nll);
}

TEST(Averages, OfPerplexitiesBeyondTheLargestDoubleAreFiniteLosses) {
  AverageOptions options;
  options.averaging = Averaging::batch_perplexities;
  const PositionLosses losses = {2, 2, {1000.0, 1000.0}, {1, 1, 1, 1}};
  EXPECT_DOUBLE_EQ(average(losses, options).nll, 1000);
}

TEST(Averages, OfCutRowsSeeTheirFirstIdsOnly) {
  AverageOptions options;
  options.length = 3;
  const Average a = average(made_up_losses(), options);
  EXPECT_EQ(a.scored, 3);
  EXPECT_DOUBLE_EQ(a.nll, (6.0 + 1 + 2) / 3);
}

TEST(Averages, LeaveOutBatchesWithoutRealPredictions) {
  PositionLosses losses = {2, 3, {4.0, 4.0, 1.0, 3.0}, {0, 0, 1, 1, 1, 1}};  // the first row is left-padded to one id
  AverageOptions options;
  options.averaging = Averaging::batch_losses;
  EXPECT_DOUBLE_EQ(average(losses, options).nll, 2);
  EXPECT_EQ(average(losses, options).scored, 2);
}

TEST(Averages, AreNamedInFull) {
  EXPECT_EQ(name(AverageOptions{}), "padding not scored, mean over tokens");
  EXPECT_EQ(name(AverageOptions{PaddingScored::yes, Averaging::batch_losses, 8, 0}),
            "padding scored, mean over batches of 8");
  EXPECT_EQ(name(AverageOptions{PaddingScored::no, Averaging::batch_perplexities, 32, 0}),
            "padding not scored, mean of the perplexities of batches of 32");
}

}  // namespace
}  // namespace assay
