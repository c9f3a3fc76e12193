#include <gtest/gtest.h>

#include <array>

#include "base/error.h"
#include "kernels/cuda/launch.h"

// The stand-in for a GPU's threads must show what a GPU would: sums over all of a team, and faults where threads do not
// wait for one another.
namespace assay::cuda_on_host {
namespace {

constexpr std::int64_t width = 64;

class TeamOnHost : public testing::Test {
 protected:
  void SetUp() override {
    if (most_threads == 1) GTEST_SKIP() << "under the address sanitizer teams are single threads";
  }
};

struct SumOfRanks {
  float* result;
  void operator()(std::int64_t row, const Team& team) const {
    const float sum = team.sum(static_cast<float>(team.rank));
    const float max = team.max(static_cast<float>(team.rank));
    result[row * width + team.rank] = sum + max;
  }
};

TEST_F(TeamOnHost, EveryThreadHasTheSumAndTheLargestOfAll) {
  std::array<float, 9 * width> found = {};
  for_rows(9, width, SumOfRanks{found.data()});
  for (const float value : found) EXPECT_EQ(value, 64 * 63 / 2 + 63);
}

TEST_F(TeamOnHost, RowsAreAsWideAsTheyNeed) {
  EXPECT_EQ(team_size(1), 32);
  EXPECT_EQ(team_size(33), 64);
}

/// Every thread hands its rank to the next one.
struct PassOn {
  float* passed;
  float* received;
  bool waits;
  void operator()(std::int64_t, const Team& team) const {
    passed[team.rank] = static_cast<float>(team.rank + 1);
    if (waits) team.wait();
    received[team.rank] = passed[(team.rank + 1) % team.size];
  }
};

std::array<float, width> pass_on(bool waits) {
  std::array<float, width> passed = {};
  std::array<float, width> received = {};
  for_rows(1, width, PassOn{passed.data(), received.data(), waits});
  return received;
}

TEST_F(TeamOnHost, AnyOrderGivesTheSameWhereThreadsWait) {
  const auto forward = pass_on(true);
  const InTurns order(Turns::last_to_first);
  EXPECT_EQ(forward, pass_on(true));
}

TEST_F(TeamOnHost, OrdersDifferWhereThreadsDoNotWait) {
  const auto forward = pass_on(false);
  const InTurns order(Turns::last_to_first);
  EXPECT_NE(forward, pass_on(false));
}

struct HalfWaits {
  void operator()(std::int64_t, const Team& team) const {
    if (team.rank < team.size / 2) team.wait();
  }
};

TEST_F(TeamOnHost, AThreadThatEndsWhileOthersWaitIsADefect) {
  EXPECT_THROW(for_rows(1, width, HalfWaits{}), Error);
  EXPECT_EQ(pass_on(true)[0], 2) << "the next team works";
}

/// Shifts a row by one place.
struct Shift {
  float* values;
  void operator()(std::int64_t i) const { values[i] = values[i + 1]; }
};

TEST(ElementsOnHost, OrdersDifferWhereElementsReadTheirNeighbours) {
  std::array<float, 4> forward = {1, 2, 3, 4};
  std::array<float, 4> backward = forward;
  for_elements(3, Shift{forward.data()});
  const InTurns order(Turns::last_to_first);
  for_elements(3, Shift{backward.data()});
  EXPECT_NE(forward, backward);
}

}  // namespace
}  // namespace assay::cuda_on_host
