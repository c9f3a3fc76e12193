#include "studies/tune/knapsack.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "base/random.h"

namespace assay {
namespace {

using Parts = std::vector<std::vector<PartOption>>;

struct Total {
  double cost = 0;
  double loss = 0;
};

Total total_of(const Parts& parts, const std::vector<std::size_t>& chosen) {
  Total total;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    total.cost += parts[p][chosen[p]].cost;
    total.loss += parts[p][chosen[p]].loss;
  }
  return total;
}

/// The least cost of all combinations that fit; infinite where none does.
double least_by_trying_all(const Parts& parts, double most_loss) {
  double least = std::numeric_limits<double>::infinity();
  std::vector<std::size_t> chosen(parts.size(), 0);
  for (;;) {
    const Total total = total_of(parts, chosen);
    if (total.loss <= most_loss) least = std::min(least, total.cost);
    std::size_t p = 0;
    while (p < parts.size() && ++chosen[p] == parts[p].size()) chosen[p++] = 0;
    if (p == parts.size()) return least;
  }
}

Parts random_parts(Random& random) {
  Parts parts(1 + random.below(6));
  for (auto& options : parts) {
    options.resize(1 + random.below(5));
    for (PartOption& option : options)
      option = {static_cast<double>(random.below(1000)), static_cast<double>(random.below(100))};
  }
  return parts;
}

TEST(Knapsack, NeverExceedsTheLimitAndIsAtMostTheRoundingFromTheBest) {
  Random random(7, 0);
  for (int i = 0; i < 200; ++i) {
    const Parts parts = random_parts(random);
    const double most_loss = 1 + static_cast<double>(random.below(300));
    const auto chosen = cheapest_within(parts, most_loss);
    const double rounded = most_loss * (1 - static_cast<double>(parts.size()) / knapsack_steps);
    if (!chosen) {
      EXPECT_EQ(least_by_trying_all(parts, rounded), std::numeric_limits<double>::infinity());
      continue;
    }
    const Total total = total_of(parts, *chosen);
    EXPECT_LE(total.loss, most_loss * (1 + 1e-12));
    EXPECT_GE(total.cost, least_by_trying_all(parts, most_loss));
    EXPECT_LE(total.cost, least_by_trying_all(parts, rounded));
  }
}

TEST(Knapsack, TakesWhatLosesNothingHoweverSmallTheLimit) {
  const Parts parts = {{{5, 0}, {1, 1e-3}}, {{7, 0}, {6, 0}}};
  const auto chosen = cheapest_within(parts, 1e-9);
  ASSERT_TRUE(chosen.has_value());
  EXPECT_EQ(*chosen, (std::vector<std::size_t>{0, 1}));
}

TEST(Knapsack, HasNoChoiceWhereEveryOptionLosesTooMuch) {
  EXPECT_FALSE(cheapest_within(Parts{{{1, 2}}}, 1).has_value());
}

}  // namespace
}  // namespace assay
