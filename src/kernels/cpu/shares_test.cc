#include "kernels/cpu/shares.h"

#include <gtest/gtest.h>

#include "base/threads.h"

namespace assay::cpu {
namespace {

TEST(Shares, AThreadTakesItsOwnStretchInOrderAndThenTheEndsOfOthers) {
  Shares shares(2);
  shares.deal(7);
  for (const std::int64_t expected : {0, 1, 2, 6, 5}) EXPECT_EQ(shares.take(0), expected);
  EXPECT_EQ(shares.take(1), 3);
  EXPECT_EQ(shares.take(1), 4);
  EXPECT_EQ(shares.take(1), Shares::none);
  EXPECT_EQ(shares.take(0), Shares::none);
}

TEST(Shares, EveryNumberIsTakenOnce) {
  set_threads(4);
  for (const std::int64_t count : {0, 1, 3, 1000}) {
    Shares shares(4);
    std::vector<std::atomic<int>> taken(static_cast<std::size_t>(count));
    shares.deal(count);
    on_threads(4, [&](int thread, int) {
      for (std::int64_t i = shares.take(thread); i != Shares::none; i = shares.take(thread))
        ++taken[static_cast<std::size_t>(i)];
    });
    for (const auto& times : taken) EXPECT_EQ(times, 1);
  }
}

}  // namespace
}  // namespace assay::cpu
