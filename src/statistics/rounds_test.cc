#include "statistics/rounds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "statistics/two_samples.h"

namespace assay {
namespace {

/// How the logarithms of successive runs' times vary on machines that are not quiet.
struct Noise {
  const char* name;
  double correlation = 0;  ///< Of a run with the next one: AR(1).
  double spread = 0.03;
  double spike = 0;     ///< Longest hold-up of one run in twelve.
  double drift = 0;     ///< A run.
  double position = 0;  ///< Of what stands second in a round.
  double burst = 0;     ///< Foreign load that comes and goes, for some ten runs each.
};
constexpr Noise noises[] = {
    {.name = "independent"},
    {.name = "correlated", .correlation = 0.3},
    {.name = "much correlated", .correlation = 0.5},
    {.name = "by turns", .correlation = -0.5},
    {.name = "spikes", .correlation = 0.5, .spike = 0.3},
    {.name = "drift", .correlation = 0.5, .drift = 0.003},
    {.name = "position", .correlation = 0.5, .position = 0.03},
    {.name = "bursts", .correlation = 0.3, .burst = 0.3},
    {.name = "all", .correlation = 0.5, .spike = 0.3, .drift = 0.002, .position = 0.02, .burst = 0.15},
};

class NoisyRuns {
 public:
  NoisyRuns(const Noise& noise, Random& random) : noise_(noise), random_(random), state_(random.next_normal()) {}

  double next_ms() {
    const double kept = noise_.correlation;
    state_ = kept * state_ + std::sqrt(1 - kept * kept) * random_.next_normal();
    if (random_.next_uniform() < 0.1) is_loaded_ = !is_loaded_;
    double log_ms = noise_.spread * state_ + noise_.drift * run_ + (run_ % 2 == 0 ? 0 : noise_.position);
    if (random_.next_uniform() < 1.0 / 12) log_ms += noise_.spike * random_.next_uniform();
    if (is_loaded_) log_ms += noise_.burst * (0.7 + 0.6 * random_.next_uniform());
    ++run_;
    return 5 * std::exp(log_ms);
  }

 private:
  const Noise& noise_;
  Random& random_;
  double state_;
  bool is_loaded_ = false;
  int run_ = 0;
};

struct Rounds {
  std::vector<double> a;
  std::vector<double> b;
};

template <typename IsAFirst>
Rounds made_rounds(NoisyRuns runs, int count, double ratio, IsAFirst&& is_a_first) {
  Rounds rounds;
  for (int i = 0; i < count; ++i) {
    const double first_ms = runs.next_ms();
    const double second_ms = runs.next_ms();
    const bool a_first = is_a_first(i);
    rounds.a.push_back(a_first ? first_ms : second_ms);
    rounds.b.push_back(ratio * (a_first ? second_ms : first_ms));
  }
  return rounds;
}

Rounds tossed_rounds(const Noise& noise, int count, double ratio, Random& random) {
  TossedOrder order(random.next_u32());
  return made_rounds(NoisyRuns(noise, random), count, ratio, [&](int) { return order.is_a_first(); });
}

constexpr int tries = 2000;
/// More than one in a thousand of seeds would exceed it by chance, were the rate 2.5 %: 50 + 3.1 sqrt(50 (1 - 0.025)).
constexpr int most_of_a_side = 72;

TEST(RatioOfRounds, OfOneThingWithItselfKeepsItsRateOnEachSideWhateverTheNoise) {
  for (const Noise& noise : noises) {
    for (const int count : {10, 40}) {
      Random random(21);
      int above = 0;
      int below = 0;
      for (int i = 0; i < tries; ++i) {
        const Rounds rounds = tossed_rounds(noise, count, 1, random);
        const Interval interval = *ratio_of_rounds(rounds.a, rounds.b).interval;
        above += interval.low > 1 ? 1 : 0;
        below += interval.high < 1 ? 1 : 0;
      }
      EXPECT_LE(above, most_of_a_side) << noise.name << ", " << count << " rounds";
      EXPECT_LE(below, most_of_a_side) << noise.name << ", " << count << " rounds";
    }
  }
}

// Why the order is tossed.
TEST(RatioOfRounds, InTheFixedOrderABBAWouldExceedItsRateWhereRunsAreCorrelated) {
  Random random(22);
  int wrong = 0;
  for (int i = 0; i < tries; ++i) {
    const Rounds rounds = made_rounds(NoisyRuns(noises[2], random), 40, 1, [](int round) { return round % 2 == 0; });
    const Interval interval = *ratio_of_rounds(rounds.a, rounds.b).interval;
    wrong += interval.low > 1 || interval.high < 1 ? 1 : 0;
  }
  EXPECT_GT(wrong, tries * 6 / 100);
}

TEST(RatioOfRounds, ADifferenceOfTheMarginIsSeldomWithinIt) {
  for (const Noise& noise : noises) {
    Random random(23);
    int within = 0;
    for (int i = 0; i < tries; ++i) {
      const Rounds rounds = tossed_rounds(noise, 20, 1.03, random);
      const Interval interval = *ratio_of_rounds(rounds.a, rounds.b).interval;
      within += interval.low >= 0.97 && interval.high <= 1.03 ? 1 : 0;
    }
    EXPECT_LE(within, most_of_a_side) << noise.name;
  }
}

TEST(RatioOfRounds, FindsThreePercentWhereRunsVaryByThree) {
  Random random(24);
  int found = 0;
  for (int i = 0; i < tries; ++i) {
    const Rounds rounds = tossed_rounds(noises[0], 40, 1.03, random);
    found += ratio_of_rounds(rounds.a, rounds.b).interval->low > 1 ? 1 : 0;
  }
  EXPECT_GT(found, tries * 95 / 100);
}

std::vector<double> walsh_averages_of_logs(const Rounds& rounds) {
  std::vector<double> averages;
  for (std::size_t i = 0; i < rounds.a.size(); ++i) {
    for (std::size_t j = i; j < rounds.a.size(); ++j) {
      averages.push_back((std::log(rounds.b[i] / rounds.a[i]) + std::log(rounds.b[j] / rounds.a[j])) / 2);
    }
  }
  std::sort(averages.begin(), averages.end());
  return averages;
}

TEST(RatioOfRounds, IsMadeOfWalshAverages) {
  Random random(25);
  for (const int count : {6, 10, 25, 60, 61, 90}) {
    const Rounds rounds = tossed_rounds(noises[8], count, 1.1, random);
    const std::vector<double> averages = walsh_averages_of_logs(rounds);
    const std::size_t k = signed_rank_order(static_cast<std::size_t>(count), 0.05);
    const Ratio ratio = ratio_of_rounds(rounds.a, rounds.b);
    EXPECT_NEAR(ratio.value, std::exp(median(averages)), 1e-12);
    EXPECT_NEAR(ratio.interval->low, std::exp(averages[k - 1]), 1e-12);
    EXPECT_NEAR(ratio.interval->high, std::exp(averages[averages.size() - k]), 1e-12);
  }
}

TEST(RatioOfRounds, LiesClearOfOneWhereTheTestRejects) {
  Random random(26);
  for (int i = 0; i < 300; ++i) {
    const int count = 8 + i % 70;
    const Rounds rounds = tossed_rounds(noises[0], count, 1.01, random);
    std::vector<double> logs;
    for (int k = 0; k < count; ++k) logs.push_back(std::log(rounds.b[k] / rounds.a[k]));
    for (const double level : {0.05, 0.01}) {
      const Ratio ratio = ratio_of_rounds(rounds.a, rounds.b, 1 - level);
      if (!ratio.interval) continue;
      const bool is_clear = ratio.interval->low > 1 || ratio.interval->high < 1;
      EXPECT_EQ(is_clear, wilcoxon(logs).p <= level) << count << " rounds";
    }
  }
}

TEST(RatioOfRounds, HasNoIntervalOfTooFewRoundsAndIsExactWhereRoundsAreAlike) {
  const std::vector<double> a = {1, 2, 3, 4, 5, 6};
  const std::vector<double> b = {2, 4, 6, 8, 10, 12};
  EXPECT_FALSE(ratio_of_rounds(std::span(a).first(5), b).interval);
  EXPECT_FALSE(ratio_of_rounds(a, b, 0.99).interval);
  EXPECT_NEAR(ratio_of_rounds(a, b).value, 2, 1e-12);
  EXPECT_NEAR(ratio_of_rounds(a, b).interval->low, 2, 1e-12);
  EXPECT_NEAR(ratio_of_rounds(a, b).interval->high, 2, 1e-12);
}

TEST(RatioOfRounds, IsMadeOfAHundredThousandRoundsToo) {
  std::vector<double> ones(100'000, 1.0);
  std::vector<double> times = ones;
  for (std::size_t i = 0; i < times.size(); ++i) times[i] = 1 + 1e-6 * static_cast<double>(i * 7919 % 100'000);
  const Ratio ratio = ratio_of_rounds(ones, times);
  EXPECT_NEAR(ratio.value, 1.0494, 1e-3);
  EXPECT_LT(ratio.interval->high - ratio.interval->low, 1e-3);
}

// Tables of critical values of the signed-rank statistic (Hollander, Wolfe & Chicken 2014, table A.4): one more.
TEST(SignedRankOrder, IsThatOfTheTables) {
  EXPECT_EQ(signed_rank_order(5, 0.05), 0u);
  EXPECT_EQ(signed_rank_order(6, 0.05), 1u);
  EXPECT_EQ(signed_rank_order(10, 0.05), 9u);
  EXPECT_EQ(signed_rank_order(20, 0.05), 53u);
  EXPECT_EQ(signed_rank_order(25, 0.05), 90u);
  EXPECT_EQ(signed_rank_order(10, 0.01), 4u);
  EXPECT_NEAR(static_cast<double>(signed_rank_order(61, 0.05)), static_cast<double>(signed_rank_order(60, 0.05)), 30);
  EXPECT_EQ(signed_rank_order(100, 1e-300), 0u);
}

}  // namespace
}  // namespace assay
