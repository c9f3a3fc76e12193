#include <gtest/gtest.h>

#include "measure/sampling_testing.h"

// What sampling does for a device that works beside the host.
namespace assay {
namespace {

constexpr std::uint64_t power_cap = 0x4;

/// A GPU of 1 GHz that tells `reasons` at every reading.
std::function<GpuConditions()> gpu_that_tells(const std::function<std::uint64_t()>& reasons) {
  return [reasons] { return GpuConditions{.throttle_reasons = reasons(), .temperature_c = 50, .clock_mhz = 1000}; };
}

TEST(SamplingOfADevice, ItsOwnTimeIsReadOnceARoundAndOutsideOfTheWindows) {
  FakeTime time;
  Subject subject = time.taking("a", [] { return 0.5; });
  int timed = 0;
  subject.time_on_device = [&]() -> std::optional<DeviceTime> {
    time.now += 100;
    if (++timed == 2) return DeviceTime{0.25, std::nullopt};
    return DeviceTime{0.25, 0.125};
  };
  SamplingOptions options = options_on(time);
  options.rounds = 5;
  const Series series = sample(std::span(&subject, 1), options).front();
  EXPECT_EQ(series.raw_ms, std::vector<double>(5, 500));
  EXPECT_EQ(series.device_ms, std::vector<double>(4, 250)) << "one held waits for the host: the queue was full";
  EXPECT_EQ(series.enqueue_ms, std::vector<double>(4, 125));
}

TEST(SamplingOfADevice, WhatComesBeforeARunIsNotTimedNorMetered) {
  FakeTime time;
  const Subject subject = time.taking("a", [] { return 0.5; });
  SamplingOptions options = options_on(time);
  options.rounds = 5;
  int emptied = 0;
  options.before_run = [&] {
    time.now += 7;
    ++emptied;
  };
  const Series series = sample(std::span(&subject, 1), options).front();
  EXPECT_EQ(series.raw_ms, std::vector<double>(5, 500));
  EXPECT_EQ(emptied, 5);
  EXPECT_FALSE(series.energy.has_value());
}

TEST(SamplingOfADevice, ARoundOfClocksHeldDownIsLeftOutWholeAndCounted) {
  FakeTime time;
  int a_runs = 0;
  bool is_hot = false;
  const Subject subjects[] = {time.taking("a",
                                          [&] {
                                            is_hot = ++a_runs % 4 == 0;
                                            return is_hot ? 5.0 : 0.5;
                                          }),
                              time.taking("b", [] { return 0.5; })};
  SamplingOptions options = options_on(time);
  options.rounds = 12;
  options.gpu = gpu_that_tells([&] { return std::exchange(is_hot, false) ? power_cap : 0; });
  for (const Series& series : sample(subjects, options)) {
    EXPECT_EQ(series.raw_ms, std::vector<double>(12, 500)) << series.name;
    EXPECT_GE(series.throttled_rounds, 3) << series.name;
    EXPECT_EQ(series.timed_runs, 12) << series.name;
    EXPECT_EQ(series.conditions.throttle_reasons, 0U) << series.name;
    EXPECT_EQ(series.conditions.frequency_before_mhz, 1000) << series.name;
    EXPECT_EQ(series.conditions.temperature_after_c, 50) << series.name;
  }
}

TEST(SamplingOfADevice, ClocksThatAreAlwaysHeldDownAreHowTheBoardRuns) {
  FakeTime time;
  const Subject subject = time.taking("a", [] { return 0.5; });
  SamplingOptions options = options_on(time);
  options.rounds = 10;
  options.gpu = gpu_that_tells([] { return power_cap; });
  const Series series = sample(std::span(&subject, 1), options).front();
  EXPECT_EQ(series.raw_ms.size(), 10U);
  EXPECT_EQ(series.throttled_rounds, 10) << "every second round";
  EXPECT_EQ(series.conditions.throttle_reasons, power_cap);
}

TEST(SamplingOfADevice, IdleClocksAreNotHeldDown) {
  FakeTime time;
  const Subject subject = time.taking("a", [] { return 0.5; });
  SamplingOptions options = options_on(time);
  options.rounds = 4;
  options.gpu = gpu_that_tells([] { return std::uint64_t{0x1}; });
  const Series series = sample(std::span(&subject, 1), options).front();
  EXPECT_EQ(series.raw_ms.size(), 4U);
  EXPECT_EQ(series.throttled_rounds, 0);
}

}  // namespace
}  // namespace assay
