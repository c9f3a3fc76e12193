#include "statistics/between_runs.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"

namespace assay {
namespace {

TEST(BetweenRuns, TheirSpreadIsThatOfTheLogsWithinEachMeasurement) {
  std::vector<RunFigure> figures;
  Random random(8);
  for (int run = 0; run < 400; ++run) {
    const double phase = 0.08 * random.next_normal();
    figures.push_back({"a", "a fp32", 10 * std::exp(phase)});
    figures.push_back({"a", "a bf16", 5 * std::exp(phase)});
    figures.push_back({"b", "b fp32", 700 * std::exp(0.08 * random.next_normal())});
  }
  const auto spread = spread_between_runs(figures);
  ASSERT_TRUE(spread);
  EXPECT_NEAR(spread->deviation, 0.08, 0.005) << "what differs between measurements is none of it";
  EXPECT_EQ(spread->degrees, 2 * 399) << "two precisions of one cell move together and count once";
}

TEST(BetweenRuns, FewOfThemSayNothing) {
  EXPECT_FALSE(spread_between_runs({}));
  const RunFigure three[] = {{"a", "a", 1}, {"a", "a", 2}, {"a", "a", 3}};
  EXPECT_FALSE(spread_between_runs(three));
  const RunFigure apart[] = {{"a", "a", 1}, {"b", "b", 2}, {"c", "c", 3}, {"d", "d", 4}};
  EXPECT_FALSE(spread_between_runs(apart)) << "one run each";
}

TEST(BetweenRuns, ACellsOwnCountOnceTheyAreEnough) {
  std::vector<RunFigure> figures;
  for (const double value : {1.0, 3.0, 1.0, 3.0, 1.0}) figures.push_back({"small", "small", value});
  for (const double value : {100.0, 101.0, 100.0}) figures.push_back({"large", "large", value});
  EXPECT_GT(spread_between_runs(figures, "large")->deviation, 0.3) << "three runs of its own: those of all";
  figures.push_back({"large", "large", 101});
  EXPECT_LT(spread_between_runs(figures, "large")->deviation, 0.02);
  EXPECT_GT(spread_between_runs(figures, "small")->deviation, 0.3);
}

/// A run's processes agree among themselves, and its phase is another in the next run.
TEST(BetweenRuns, IntervalsHoldTheTruthOverRunsThatDiffer) {
  Random random(11);
  int held = 0;
  constexpr int trials = 2000;
  for (int trial = 0; trial < trials; ++trial) {
    std::vector<RunFigure> earlier;
    earlier.reserve(6);
    for (int run = 0; run < 6; ++run) earlier.push_back({"a", "a", std::exp(0.06 * random.next_normal())});
    const double phase = 0.06 * random.next_normal();
    const double deviation = 0.01;
    Welford processes;
    for (int process = 0; process < 5; ++process) processes.add(phase + deviation * random.next_normal());
    const double half = t_quantile(4) * processes.standard_deviation() / std::sqrt(5);
    const WithinRun within = {{std::exp(processes.mean() - half), std::exp(processes.mean() + half)}, 4};
    const Interval interval = with_spread(within, *spread_between_runs(earlier));
    held += interval.low <= 1 && interval.high >= 1 ? 1 : 0;
    EXPECT_LE(interval.low, within.interval.low);
    EXPECT_GE(interval.high, within.interval.high);
  }
  EXPECT_GT(held, 0.94 * trials);
  EXPECT_LT(held, 0.98 * trials);
}

TEST(BetweenRuns, WithoutSpreadTheIntervalStays) {
  const WithinRun within = {{0.9, 1.1}, 4};
  const Interval interval = with_spread(within, {0, 5});
  EXPECT_NEAR(interval.low, 0.9, 1e-9);
  EXPECT_NEAR(interval.high, 1.1, 1e-9);
}

}  // namespace
}  // namespace assay
