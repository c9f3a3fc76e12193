#include "measure/phases.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

/// A clock that moves only when somebody works.
struct MadeUpTime {
  double now_s = 0;
  int steps = 0;

  PhasedSubject subject(double first_s, double second_s) {
    const auto work = [this](double seconds) { return [this, seconds] { now_s += seconds; }; };
    return {"step", {work(first_s), work(second_s)}, [this] {
              now_s += 100;  // reading a result is never timed
              return static_cast<double>(++steps);
            }};
  }

  SamplingOptions options(int rounds, double seconds) {
    SamplingOptions options;
    options.clock = {[this] { return now_s; }, 1e-9};
    options.rounds = rounds;
    options.seconds = seconds;
    return options;
  }
};

TEST(Phases, EachIsTimedByItself) {
  MadeUpTime time;
  const PhasedSubject subject = time.subject(2e-3, 3e-3);
  const auto series = sample_phases(std::span(&subject, 1), time.options(8, 1e9));
  ASSERT_EQ(series.size(), 1U);
  ASSERT_EQ(series[0].size(), 2U);
  for (const double ms : series[0][0].raw_ms) EXPECT_NEAR(ms, 2, 1e-6);
  for (const double ms : series[0][1].raw_ms) EXPECT_NEAR(ms, 3, 1e-6);
  EXPECT_EQ(series[0][0].raw_ms.size(), 8U);
  EXPECT_EQ(series[0][0].stopped_by, StoppedBy::rounds);
  EXPECT_TRUE(series[0][0].steady);
  EXPECT_NEAR(*series[0][1].first_ms, 3, 1e-6);
}

TEST(Phases, TheBudgetEndsSampling) {
  MadeUpTime time;
  const PhasedSubject subject = time.subject(1, 1);
  const auto series = sample_phases(std::span(&subject, 1), time.options(1000, 1000));
  EXPECT_EQ(series[0][0].stopped_by, StoppedBy::budget);
  EXPECT_GE(series[0][0].raw_ms.size(), 1U);
  EXPECT_LT(series[0][0].raw_ms.size(), 12U) << "a step and its reading take 102 s";
}

TEST(Phases, ASlowFirstStepIsNotSampled) {
  MadeUpTime time;
  const PhasedSubject subjects[] = {time.subject(5, 5), time.subject(1e-3, 1e-3)};
  SamplingOptions options = time.options(3, 1e9);
  options.most_first_run_s = 9;
  const auto series = sample_phases(subjects, options);
  EXPECT_EQ(series[0][0].stopped_by, StoppedBy::too_slow);
  EXPECT_TRUE(series[0][1].raw_ms.empty());
  EXPECT_EQ(series[1][1].raw_ms.size(), 3U);
}

TEST(Phases, AnInterruptEndsThem) {
  MadeUpTime time;
  std::atomic<bool> interrupted = false;
  PhasedSubject subject = time.subject(1, 1);
  subject.phases.push_back([&] { interrupted = time.steps >= 10; });
  SamplingOptions options = time.options(1000, 1e9);
  options.interrupted = &interrupted;
  const auto series = sample_phases(std::span(&subject, 1), options);
  EXPECT_EQ(series[0][0].stopped_by, StoppedBy::interrupted);
  EXPECT_LT(series[0][0].raw_ms.size(), 11U);
}

}  // namespace
}  // namespace assay
