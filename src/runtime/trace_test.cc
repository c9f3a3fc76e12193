#include "runtime/trace.h"

#include <gtest/gtest.h>

#include <cstring>

#include "runtime/testing.h"

namespace assay {
namespace {

TEST(Trace, EveryStepIsTimedOnceInOrderAndTheResultIsThatOfAnUntracedRun) {
  const SmallModel model;
  Instance instance = model.instance("fp32");
  Plan plan(instance, {.extent = {2, 9}});
  plan.set_inputs(some_ids({2, 9}), {});
  plan.run();
  const Tensor untraced = plan.output_f32("logits");
  std::vector<StepTime> times(plan.steps().size());
  run_traced(plan, times);
  const Tensor traced = plan.output_f32("logits");
  EXPECT_EQ(std::memcmp(untraced.data(), traced.data(), traced.bytes()), 0);
  for (std::size_t i = 0; i < times.size(); ++i) {
    EXPECT_GT(times[i].begin_s, 0);
    EXPECT_GE(times[i].end_s, times[i].begin_s);
    if (i > 0) {
      EXPECT_GE(times[i].begin_s, times[i - 1].end_s);
    }
  }
}

TEST(Trace, AReadingOfTheClockCostsSomethingAndLessThanAMillisecond) {
  EXPECT_GT(clock_cost_s(), 0);
  EXPECT_LT(clock_cost_s(), 1e-3);
}

}  // namespace
}  // namespace assay
