#include "base/random.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <set>

namespace assay {
namespace {

using Block = std::array<std::uint32_t, 4>;

TEST(Philox, GivesTheKnownAnswersOfRandom123) {
  // kat_vectors of Random123 1.09, philox4x32 with 10 rounds.
  EXPECT_EQ(philox(0, 0, 0), (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox(~0ULL, ~0ULL, ~0ULL), (Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox(0x299f31d0a4093822ULL, 0x0370734413198a2eULL, 0x85a308d3243f6a88ULL),
            (Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Uniform, IsNeverZeroAndNeverOne) {
  EXPECT_GT(uniform(0), 0.0F);
  EXPECT_LT(uniform(0xffffffffU), 1.0F);
  EXPECT_EQ(uniform(0) + uniform(0xffffffffU), 1.0F) << "symmetric about one half";
}

TEST(Random, ASequenceIsNamedBySeedAndStream) {
  Random first(1, 2);
  Random again(1, 2);
  std::set<std::uint32_t> starts;
  for (int i = 0; i < 100; ++i) EXPECT_EQ(first.next_u32(), again.next_u32());
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    for (std::uint64_t stream = 0; stream < 4; ++stream) starts.insert(Random(seed, stream).next_u32());
  }
  EXPECT_EQ(starts.size(), 16U);
}

TEST(Random, ReadsThePhiloxBlocksInOrder) {
  Random random(9, 5);
  for (std::uint64_t block = 0; block < 3; ++block) {
    for (const std::uint32_t word : philox(9, 5, block)) EXPECT_EQ(random.next_u32(), word);
  }
}

TEST(Random, BelowReachesEveryValueEquallyOften) {
  Random random(3);
  std::array<int, 7> seen{};
  constexpr int draws = 70'000;
  for (int i = 0; i < draws; ++i) ++seen.at(random.below(7));
  // 10,000 each with a standard deviation of 93; five of those.
  for (const int count : seen) EXPECT_NEAR(count, 10'000, 465);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(random.below(1), 0U);
  const std::uint64_t huge = (std::uint64_t{1} << 63) + 1;
  for (int i = 0; i < 100; ++i) EXPECT_LT(random.below(huge), huge);
}

TEST(Random, UniformHasTheMomentsOfTheUniformDistribution) {
  Random random(4);
  constexpr int draws = 100'000;
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < draws; ++i) {
    const double u = random.next_uniform();
    ASSERT_GT(u, 0.0);
    ASSERT_LT(u, 1.0);
    sum += u;
    squares += (u - 0.5) * (u - 0.5);
  }
  EXPECT_NEAR(sum / draws, 0.5, 5 * std::sqrt(1.0 / 12 / draws));
  EXPECT_NEAR(squares / draws, 1.0 / 12, 5 * std::sqrt(1.0 / 180 / draws));
}

TEST(Random, NormalHasTheMomentsOfTheNormalDistribution) {
  Random random(5);
  constexpr int draws = 100'000;
  std::array<double, 5> moments{};
  for (int i = 0; i < draws; ++i) {
    const double z = random.next_normal();
    for (int power = 1; power <= 4; ++power) moments.at(static_cast<std::size_t>(power)) += std::pow(z, power) / draws;
  }
  // Five standard errors: variances of z, z^2, z^3, z^4 are 1, 2, 15, 96.
  EXPECT_NEAR(moments[1], 0.0, 5 * std::sqrt(1.0 / draws));
  EXPECT_NEAR(moments[2], 1.0, 5 * std::sqrt(2.0 / draws));
  EXPECT_NEAR(moments[3], 0.0, 5 * std::sqrt(15.0 / draws));
  EXPECT_NEAR(moments[4], 3.0, 5 * std::sqrt(96.0 / draws));
}

}  // namespace
}  // namespace assay
