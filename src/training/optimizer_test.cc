#include "training/optimizer.h"

#include <gtest/gtest.h>

#include <cmath>

namespace assay {
namespace {

TEST(Schedule, TheWarmUpRisesInEqualStepsToTheFullRate) {
  const Schedule schedule = {.warmup_steps = 4, .total_steps = 10};
  EXPECT_EQ(rate_share(schedule, 0), 0.25);
  EXPECT_EQ(rate_share(schedule, 1), 0.5);
  EXPECT_EQ(rate_share(schedule, 3), 1);
  EXPECT_EQ(rate_share(schedule, 1000), 1) << "constant after it";
}

TEST(Schedule, LinearAndCosineEndAtTheirFinalShare) {
  for (const auto shape : {Schedule::Shape::linear, Schedule::Shape::cosine}) {
    const Schedule schedule = {.shape = shape, .warmup_steps = 2, .total_steps = 12, .final_share = 0.1};
    EXPECT_EQ(rate_share(schedule, 2), 1);
    EXPECT_NEAR(rate_share(schedule, 7), 0.55, 1e-12) << "half way both are half way down";
    EXPECT_NEAR(rate_share(schedule, 12), 0.1, 1e-12);
    EXPECT_NEAR(rate_share(schedule, 50), 0.1, 1e-12) << "and stay there";
    for (std::int64_t step = 3; step <= 12; ++step)
      EXPECT_LT(rate_share(schedule, step), rate_share(schedule, step - 1)) << step;
  }
}

TEST(Schedule, ACosineIsFlatAtBothEnds) {
  const Schedule cosine = {.shape = Schedule::Shape::cosine, .total_steps = 100};
  const Schedule linear = {.shape = Schedule::Shape::linear, .total_steps = 100};
  EXPECT_GT(rate_share(cosine, 10), rate_share(linear, 10));
  EXPECT_LT(rate_share(cosine, 90), rate_share(linear, 90));
}

TEST(LossScale, AStepThatIsNotFiniteHalvesItAndIsSkipped) {
  LossScale scale(LossScale::Mode::dynamic);
  const double before = scale.scale();
  EXPECT_FALSE(scale.accept(false));
  EXPECT_EQ(scale.scale(), before / 2);
  EXPECT_EQ(scale.progress().skipped, 1);
}

TEST(LossScale, ItDoublesAfterTwoThousandStepsInARow) {
  LossScale scale(LossScale::Mode::dynamic);
  const double before = scale.scale();
  for (int step = 0; step < 1999; ++step) EXPECT_TRUE(scale.accept(true));
  EXPECT_EQ(scale.scale(), before);
  LossScale resumed(LossScale::Mode::dynamic);
  resumed.restore(scale.progress());
  EXPECT_TRUE(resumed.accept(true));
  EXPECT_EQ(resumed.scale(), 2 * before) << "the count goes on where it was";
}

TEST(LossScale, AFixedScaleStaysAndSkipsWhatIsNotFinite) {
  LossScale scale(LossScale::Mode::fixed_at_one);
  EXPECT_TRUE(scale.accept(true));
  EXPECT_EQ(scale.progress().skipped, 0);
  EXPECT_FALSE(scale.accept(false));
  EXPECT_EQ(scale.scale(), 1);
  EXPECT_EQ(scale.progress().skipped, 1);
}

}  // namespace
}  // namespace assay
