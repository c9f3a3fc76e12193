#include "statistics/processes.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "statistics/bootstrap.h"

namespace assay {
namespace {

/// Samples around 10 ms: `between` is how processes differ, `within` how rounds of one do, both as shares.
struct Experiment {
  double between;
  double within;
  std::size_t processes;
  std::size_t rounds;

  std::vector<double> draw(Random& random) const {
    std::vector<double> samples;
    for (std::size_t p = 0; p < processes; ++p) {
      const double own = 10 * std::exp(between * random.next_normal());
      for (std::size_t r = 0; r < rounds; ++r) samples.push_back(own * std::exp(within * random.next_normal()));
    }
    return samples;
  }
  std::vector<double> counts() const { return std::vector<double>(processes, static_cast<double>(rounds)); }
};

constexpr int experiments = 4000;

/// How often the interval of `interval_of(samples, counts)` holds 10.
template <typename Make>
double share_held(const Experiment& experiment, Make&& interval_of) {
  Random random(7);
  int held = 0;
  for (int i = 0; i < experiments; ++i) {
    const Interval interval = interval_of(experiment.draw(random), experiment.counts());
    held += interval.low <= 10 && 10 <= interval.high ? 1 : 0;
  }
  return static_cast<double>(held) / experiments;
}

Interval over_processes(const std::vector<double>& samples, const std::vector<double>& counts) {
  return *interval_over_processes(medians_of_processes(samples, counts), median(samples));
}

Interval of_rounds(const std::vector<double>& samples, const std::vector<double>&) {
  return *summarise(samples)->interval;
}

TEST(Processes, AnIntervalOverThemHoldsWhateverVariesMost) {
  for (const auto& [between, within] : {std::pair(0.02, 0.002), {0.01, 0.01}, {0.0, 0.02}}) {
    const double share = share_held({between, within, 5, 12}, over_processes);
    EXPECT_GT(share, 0.94) << between << " between, " << within << " within";
    EXPECT_LT(share, 0.98) << between << " between, " << within << " within";
  }
}

TEST(Processes, AnIntervalOfTheRoundsAloneDoesNot) {
  EXPECT_LT(share_held({0.02, 0.002, 5, 12}, of_rounds), 0.7);
}

TEST(Processes, APercentileBootstrapOverFiveIsTooNarrow) {
  const auto bootstrap = [](const std::vector<double>& samples, const std::vector<double>& counts) {
    const std::vector<double> medians = medians_of_processes(samples, counts);
    Random random(3);
    std::vector<double> replicas(400);
    for (double& one : replicas) {
      one = 0;
      for (const std::size_t k : draw(medians.size(), random)) one += std::log(medians[k]);
      one = std::exp(one / static_cast<double>(medians.size()));
    }
    std::sort(replicas.begin(), replicas.end());
    return Interval{quantile(replicas, 0.025), quantile(replicas, 0.975)};
  };
  EXPECT_LT(share_held({0.02, 0.002, 5, 12}, bootstrap), 0.88);
}

TEST(Processes, RatiosAreOfTheRoundsOfOneProcess) {
  const std::vector<double> baseline = {20, 20, 20, 60, 60, 60};
  const std::vector<double> subject = {10, 10, 10, 20, 20, 20};
  EXPECT_EQ(ratios_of_processes(baseline, subject, std::vector<double>{3, 3}), (std::vector<double>{2, 3}));
}

TEST(Processes, CountsThatAreNotOfTheSamplesAreNone) {
  const std::vector<double> samples(6, 1.0);
  EXPECT_TRUE(are_of_processes(samples, std::vector<double>{2, 4}));
  for (const std::vector<double>& counts :
       {std::vector<double>{}, {6}, {3, 2}, {7, -1}, {6, 0}, {2.5, 3.5}, {1e300, 6}, {NAN, 6}})
    EXPECT_FALSE(are_of_processes(samples, counts));
}

TEST(Processes, ARatioOfProgramsMeasuredApartHoldsTheTruth) {
  Random random(11);
  const Experiment slower{.between = 0.02, .within = 0.01, .processes = 5, .rounds = 8};
  int held = 0;
  for (int i = 0; i < experiments; ++i) {
    std::vector<double> b = medians_of_processes(slower.draw(random), slower.counts());
    for (double& ms : b) ms *= 1.1;
    const Ratio ratio = ratio_of_processes(medians_of_processes(slower.draw(random), slower.counts()), b);
    held += ratio.interval->low <= 1.1 && 1.1 <= ratio.interval->high ? 1 : 0;
  }
  EXPECT_GT(static_cast<double>(held) / experiments, 0.94);
  EXPECT_LT(static_cast<double>(held) / experiments, 0.98);
  EXPECT_FALSE(ratio_of_processes(std::vector<double>{1}, std::vector<double>{1, 2}).interval);
  const Ratio exact = ratio_of_processes(std::vector<double>{2, 2}, std::vector<double>{4, 4});
  EXPECT_EQ(exact.value, 2);
  EXPECT_NEAR(exact.interval->low, 2, 1e-12);
}

TEST(Processes, NothingIsSaidOfTimesThatAreNone) {
  EXPECT_FALSE(interval_over_processes(std::vector<double>{10}, 10));
  EXPECT_FALSE(interval_over_processes(std::vector<double>{10, -1}, 10));
}

}  // namespace
}  // namespace assay
