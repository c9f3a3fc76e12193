#include "measure/sampling.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <stdexcept>

#include "base/error.h"
#include "base/random.h"
#include "measure/sampling_testing.h"

namespace assay {
namespace {

TEST(Sampling, StopsAtTheWidthWhereNothingVaries) {
  FakeTime time;
  const Subject subjects[] = {time.taking("a", [] { return 0.2; }), time.taking("b", [] { return 0.4; })};
  SamplingOptions options = options_on(time);
  options.seconds = 100;
  const auto series = sample(subjects, options);
  ASSERT_EQ(series.size(), 2u);
  for (const Series& one : series) {
    EXPECT_EQ(one.stopped_by, StoppedBy::width);
    EXPECT_EQ(one.raw_ms.size(), 10u);
    EXPECT_TRUE(one.steady);
  }
  EXPECT_NEAR(series[0].raw_ms[0], 200, 1e-6);
  EXPECT_NEAR(series[1].raw_ms[0], 400, 1e-6);
}

TEST(Sampling, StopsAtTheBudgetWhereTheIntervalStaysWide) {
  FakeTime time;
  Random random(3);
  const Subject subjects[] = {time.taking("wild", [&] { return 0.2 + 0.2 * random.next_uniform(); }),
                              time.taking("calm", [] { return 0.2; })};
  SamplingOptions options = options_on(time);
  options.seconds = 5;
  options.width = 0.001;
  const auto series = sample(subjects, options);
  EXPECT_EQ(series[0].stopped_by, StoppedBy::budget);
  EXPECT_EQ(series[1].stopped_by, StoppedBy::width);
  EXPECT_EQ(series[0].raw_ms.size(), series[1].raw_ms.size());
  EXPECT_GE(series[0].raw_ms.size(), 10u);
}

/// A meter that answers so many times.
class MortalMeter : public EnergyMeter {
 public:
  explicit MortalMeter(int answers) : answers_(answers) {}
  const EnergyMeterFacts& facts() const override { return facts_; }
  double read_j() override {
    if (answers_-- <= 0) fail_lacking("counter: stopped answering");
    return joules_ += 1;
  }

 private:
  EnergyMeterFacts facts_ = {.name = "m", .scope = "s", .resolution_j = 1e-3, .update_period_s = 1e-3, .limit_w = {}};
  int answers_;
  double joules_ = 0;
};

TEST(Sampling, AMeterThatStopsAnsweringCostsNoSample) {
  FakeTime time;
  const Subject subjects[] = {time.taking("a", [] { return 1.0; }), time.taking("b", [] { return 1.0; })};
  SamplingOptions options = options_on(time);
  options.rounds = 12;
  MortalMeter mortal(7);
  options.meter = &mortal;
  for (const Series& one : sample(subjects, options)) {
    EXPECT_EQ(one.raw_ms.size(), 12u);
    EXPECT_FALSE(one.energy_j().has_value());
    EXPECT_EQ(one.energy_fault, "counter: stopped answering");
  }
  MortalMeter sound(1000);
  options.meter = &sound;
  for (const Series& one : sample(subjects, options)) {
    EXPECT_TRUE(one.energy_j().has_value());
    EXPECT_EQ(one.timed_runs, 12);
    EXPECT_NEAR(one.timed_s, 12, 1e-9);
  }
}

TEST(Sampling, WhatIsLostTakesNoFurtherPart) {
  FakeTime time;
  int runs = 0;
  Subject mortal = time.taking("mortal", [&] {
    ++runs;
    return 1.0;
  });
  mortal.is_lost = [&] { return runs >= 12; };
  Subject never = time.taking("never", [] { return 1.0; });
  never.is_lost = [] { return true; };
  const Subject subjects[] = {mortal, never, time.taking("sound", [] { return 1.0; })};
  SamplingOptions options = options_on(time);
  options.rounds = 17;
  const auto series = sample(subjects, options);
  EXPECT_EQ(runs, 12) << "the run that it was lost in is the last";
  EXPECT_EQ(series[0].raw_ms.size() + series[0].warm_up_ms.size() + 2, 12u) << "beside the first run and the lost one";
  EXPECT_FALSE(series[1].first_ms);
  EXPECT_TRUE(series[1].raw_ms.empty());
  EXPECT_EQ(series[2].raw_ms.size(), 17u);
}

TEST(Sampling, TakesExactlyTheRoundsAsked) {
  FakeTime time;
  const Subject subjects[] = {time.taking("a", [] { return 1.0; })};
  SamplingOptions options = options_on(time);
  options.rounds = 17;
  options.seconds = 0.5;
  const auto series = sample(subjects, options);
  EXPECT_EQ(series[0].raw_ms.size(), 17u);
  EXPECT_EQ(series[0].stopped_by, StoppedBy::rounds);
}

TEST(Sampling, KeepsTheFirstCallAndTheWarmUpOutOfTheSamples) {
  FakeTime time;
  int calls = 0;
  const Subject subjects[] = {time.taking("a", [&] {
    ++calls;
    return calls == 1 ? 9.0 : calls < 8 ? 2.0 / calls : 0.2;
  })};
  SamplingOptions options = options_on(time);
  options.seconds = 100;
  options.rounds = 20;
  const auto series = sample(subjects, options);
  EXPECT_DOUBLE_EQ(*series[0].first_ms, 9000);
  EXPECT_TRUE(series[0].steady);
  for (const double ms : series[0].raw_ms) EXPECT_NEAR(ms, 200, 1e-6);
}

TEST(Sampling, SaysThatAWarmUpNeverBecameSteady) {
  FakeTime time;
  double seconds = 1;
  const Subject subjects[] = {time.taking("a", [&] { return seconds *= 0.9; })};
  SamplingOptions options = options_on(time);
  options.rounds = 1;
  options.seconds = 20;
  const auto series = sample(subjects, options);
  EXPECT_FALSE(series[0].steady);
  EXPECT_FALSE(series[0].warm_up_ms.empty());
}

TEST(Sampling, RepeatsShortRunsUntilTheClockResolvesThem) {
  FakeTime time;
  const Subject subjects[] = {time.taking("short", [] { return 1.02e-6; })};
  SamplingOptions options = options_on(time);
  options.clock = time.clock(1e-7);
  options.rounds = 3;
  const auto series = sample(subjects, options);
  EXPECT_EQ(series[0].repetitions, 99);
  EXPECT_NEAR(series[0].raw_ms[0], 1.02e-3, 1e-8);
}

TEST(Sampling, RunsEverySubjectOnceARoundInChangingOrder) {
  FakeTime time;
  std::vector<int> order;
  std::vector<Subject> subjects;
  subjects.reserve(3);
  for (int i = 0; i < 3; ++i) {
    subjects.push_back(time.taking(std::to_string(i), [&order, i] {
      order.push_back(i);
      return 1.0;
    }));
  }
  SamplingOptions options = options_on(time);
  options.rounds = 40;
  options.seconds = 100;
  const auto series = sample(subjects, options);
  std::set<std::vector<int>> orders;
  for (auto round = order.end() - 120; round != order.end(); round += 3) {
    orders.insert({round, round + 3});
    EXPECT_TRUE(std::is_permutation(round, round + 3, std::vector<int>{0, 1, 2}.begin()));
  }
  EXPECT_EQ(orders.size(), 6u);
}

TEST(Sampling, IsUnmovedByASlowPhaseWhenComparedRoundByRound) {
  FakeTime time;
  const auto phase = [&] { return time.now < 130 ? 1.0 : 3.0; };
  const Subject subjects[] = {time.taking("base", [&] { return 0.4 * phase(); }),
                              time.taking("fast", [&] { return 0.1 * phase(); })};
  SamplingOptions options = options_on(time);
  options.rounds = 61;
  const auto series = sample(subjects, options);
  EXPECT_NEAR(paired_ratio(series[0].raw_ms, series[1].raw_ms, 1)->value, 4, 1e-6);
}

TEST(Sampling, KeepsWhatIsMeasuredWhenInterrupted) {
  FakeTime time;
  std::atomic<bool> interrupted = false;
  int calls = 0;
  const Subject subjects[] = {time.taking("a",
                                          [&] {
                                            if (++calls == 20) interrupted = true;
                                            return 1.0;
                                          }),
                              time.taking("b", [] { return 1.0; })};
  SamplingOptions options = options_on(time);
  options.seconds = 1000;
  options.rounds = 1000;
  options.interrupted = &interrupted;
  const auto series = sample(subjects, options);
  EXPECT_EQ(series[0].stopped_by, StoppedBy::interrupted);
  EXPECT_EQ(calls, 20);
  EXPECT_EQ(series[0].raw_ms.size() + series[0].warm_up_ms.size() + 1, 20u);
  EXPECT_LE(series[1].raw_ms.size(), series[0].raw_ms.size());
}

TEST(Sampling, ARunThatAnInterruptCutShortIsDroppedWhereAsked) {
  for (const int cut : {1, 3, 20}) {
    FakeTime time;
    std::atomic<bool> interrupted = false;
    int calls = 0;
    const Subject subjects[] = {time.taking("a", [&] {
      if (++calls == cut) interrupted = true;
      return calls == cut ? 0.25 : 1.0;
    })};
    SamplingOptions options = options_on(time);
    options.seconds = 1000;
    options.rounds = 1000;
    options.interrupted = &interrupted;
    options.interrupted_window = InterruptedWindow::dropped;
    const Series series = sample(subjects, options)[0];
    EXPECT_EQ(calls, cut);
    EXPECT_EQ(series.first_ms.has_value(), cut > 1);
    for (const double ms : series.warm_up_ms) EXPECT_EQ(ms, 1000);
    for (const double ms : series.raw_ms) EXPECT_EQ(ms, 1000);
  }
}

TEST(Sampling, DoesNotRunAnythingWhenInterruptedBefore) {
  FakeTime time;
  const std::atomic<bool> interrupted = true;
  const Subject subjects[] = {{"a", [] { throw std::logic_error("ran"); }, [] { return 0.0; }}};
  SamplingOptions options = options_on(time);
  options.interrupted = &interrupted;
  const auto series = sample(subjects, options);
  EXPECT_FALSE(series[0].first_ms.has_value());
  EXPECT_EQ(series[0].stopped_by, StoppedBy::interrupted);
}

TEST(Sampling, LeavesOutASubjectWhoseFirstRunIsTooSlow) {
  FakeTime time;
  const Subject subjects[] = {time.taking("slow", [] { return 70.0; }), time.taking("fast", [] { return 0.5; })};
  SamplingOptions options = options_on(time);
  options.most_first_run_s = 60;
  options.rounds = 5;
  const auto series = sample(subjects, options);
  EXPECT_EQ(series[0].stopped_by, StoppedBy::too_slow);
  EXPECT_TRUE(series[0].raw_ms.empty());
  EXPECT_EQ(series[1].raw_ms.size(), 5u);
}

TEST(Sampling, TellsProgressThatNeverRunsBackwards) {
  FakeTime time;
  const Subject subjects[] = {time.taking("a", [] { return 0.3; })};
  SamplingOptions options = options_on(time);
  options.rounds = 12;
  std::vector<double> shares;
  options.progress = [&](const SamplingProgress& progress) {
    if (std::string(progress.phase) == "sampling") shares.push_back(progress.share_done);
    EXPECT_GE(progress.seconds_left, 0);
  };
  sample(subjects, options);
  ASSERT_EQ(shares.size(), 12u);
  EXPECT_TRUE(std::is_sorted(shares.begin(), shares.end()));
  EXPECT_LE(shares.back(), 1);
}

/// Counts 5 W of the fake time.
class FakeMeter : public EnergyMeter {
 public:
  explicit FakeMeter(const FakeTime& time) : time_(time) {}
  const EnergyMeterFacts& facts() const override { return facts_; }
  double read_j() override { return 5 * time_.now; }

 private:
  const FakeTime& time_;
  EnergyMeterFacts facts_{"fake", "everything", 1e-3, 1e-2};
};

TEST(Sampling, ReadsTheEnergyOfTheWindowsAloneAndOfOneRepetition) {
  FakeTime time;
  FakeMeter meter(time);
  const Subject subjects[] = {
      time.taking("a", [] { return 0.06; })};  // short enough for a lead-in, which is not counted
  SamplingOptions options = options_on(time);
  options.meter = &meter;
  options.rounds = 8;
  options.least_window_s = 0.2;
  const auto series = sample(subjects, options);
  EXPECT_EQ(series[0].repetitions, 4);
  EXPECT_NEAR(*series[0].energy_j(), 0.3, 1e-9);
  EXPECT_EQ(series[0].energy->windows, 8);
  EXPECT_EQ(series[0].energy->short_windows, 0);
}

TEST(Energy, IdlePowerIsTheMeterOverTheTimeReallyWaited) {
  FakeTime time;
  FakeMeter meter(time);
  const auto wait_longer = [&](double seconds) {
    time.now += 3 * seconds;
    return 3 * seconds;
  };
  const IdlePower idle = measure_idle_power(meter, wait_longer);
  EXPECT_NEAR(idle.watts, 5, 1e-9);
  EXPECT_GT(idle.uncertainty_w, 0);
}

TEST(Sampling, EndsAWarmUpThatNeverSettlesAfterAThousandRuns) {
  FakeTime time;
  double seconds = 1e-6;
  const Subject subjects[] = {time.taking("a", [&] { return seconds *= 1.03; })};
  SamplingOptions options = options_on(time);
  options.seconds = 1e60;
  options.rounds = 1;
  const auto series = sample(subjects, options);
  EXPECT_FALSE(series[0].steady);
  EXPECT_EQ(series[0].warm_up_ms.size(), 1000u);
}

TEST(Sampling, LetsWhatASubjectThrowsThrough) {
  const Subject subjects[] = {{"a", [] { throw std::runtime_error("broken"); }, [] { return 0.0; }}};
  EXPECT_THROW(sample(subjects, {}), std::runtime_error);
}

TEST(MonotonicClock, TellsItsStep) {
  const Clock clock = monotonic_clock();
  EXPECT_GT(clock.resolution_s, 0);
  EXPECT_LT(clock.resolution_s, 1e-3);
}

}  // namespace
}  // namespace assay
