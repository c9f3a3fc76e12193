#include "processes/group.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <numeric>
#include <thread>

#include "base/testing.h"
#include "processes/gather.h"
#include "processes/launch.h"
#include "processes/sums.h"
#include "processes/thread_ranks.h"

namespace assay {
namespace {

TEST(Group, EveryRankGetsWhatEveryRankGave) {
  for (const int size : {1, 2, 3, 5}) {
    run_as_ranks(size, [&](Group& group) {
      ASSERT_EQ(group.size(), size);
      const std::vector<double> values = all_gather_values(group, group.rank() + 0.5);
      const std::vector<std::string> words =
          all_gather(group, std::string(static_cast<std::size_t>(group.rank()), 'x'));
      for (int rank = 0; rank < size; ++rank) {
        EXPECT_EQ(values[static_cast<std::size_t>(rank)], rank + 0.5);
        EXPECT_EQ(words[static_cast<std::size_t>(rank)].size(), static_cast<std::size_t>(rank));
      }
      std::vector<std::byte> told(3, static_cast<std::byte>(group.rank()));
      broadcast(group, told, size - 1);
      EXPECT_EQ(told, std::vector<std::byte>(3, static_cast<std::byte>(size - 1)));
    });
  }
}

TEST(Group, RankZeroGathersWhatIsLongInComing) {
  for (const int size : {1, 2, 4}) {
    run_as_ranks(size, [&](Group& group) {
      if (group.rank() == size - 1) std::this_thread::sleep_for(std::chrono::milliseconds(30));
      const std::string mine(static_cast<std::size_t>(group.rank()), 'x');  // Rank 0 has nothing to give.
      const std::vector<std::string> all = gather_in_patience(group, mine);
      EXPECT_EQ(all.size(), group.rank() == 0 ? static_cast<std::size_t>(size) : 0U);
      for (std::size_t rank = 0; rank < all.size(); ++rank) EXPECT_EQ(all[rank], std::string(rank, 'x'));
    });
  }
}

/// The launcher interrupts who is left; nothing else tells of a rank that is gone with its machine.
TEST(Group, WhoIsInterruptedWaitsNotForEver) {
  const std::atomic<bool> interrupted = true;
  std::atomic<bool> gave_up = false;
  run_as_ranks(2, [&](Group& group) {
    if (group.rank() == 0) {
      EXPECT_THROW(gather_in_patience(group, "", &interrupted), RankLost);
      gave_up = true;
    }
    while (!gave_up) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
}

/// Ranks may get to the channels in any order: those of one channel alone are matched.
TEST(Group, ChannelsDoNotWaitForOneAnother) {
  run_as_ranks(2, [](Group& group) {
    const int other = 1 - group.rank();
    const auto mine = static_cast<std::byte>(group.rank());
    std::byte first{9};
    std::byte second{9};
    const Outgoing out = {other, {&mine, 1}};
    const Incoming in_first = {other, {&first, 1}};
    const Incoming in_second = {other, {&second, 1}};
    std::unique_ptr<Exchange> one;
    std::unique_ptr<Exchange> two;
    if (group.rank() == 0) one = group.begin(1, {&out, 1}, {&in_first, 1});
    two = group.begin(2, {&out, 1}, {&in_second, 1});
    if (group.rank() == 1) one = group.begin(1, {&out, 1}, {&in_first, 1});
    finish(*two);
    finish(*one);
    EXPECT_EQ(first, static_cast<std::byte>(other));
    EXPECT_EQ(second, static_cast<std::byte>(other));
  });
}

TEST(Group, SumsOverAllRanksAreTheSameEverywhere) {
  run_as_ranks(5, [](Group& group) {
    std::vector<float> values(1000);
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = 0.1F * static_cast<float>(i + 1) / static_cast<float>(group.rank() + 3);
    finish(*group.begin_sum(3, std::as_writable_bytes(std::span(values)), DType::f32));
    for (std::size_t i = 0; i < values.size(); ++i) {
      double exact = 0;
      for (int rank = 0; rank < 5; ++rank) exact += 0.1 * static_cast<double>(i + 1) / (rank + 3);
      EXPECT_NEAR(values[i], exact, 1e-6 * exact);
    }
    const std::vector<std::vector<std::byte>> all = all_gather(group, std::as_bytes(std::span(values)));
    for (const auto& one : all) EXPECT_EQ(one, all[0]);
  });
}

TEST(Group, ARankThatEndsEndsTheOthersWaits) {
  const auto begin = std::chrono::steady_clock::now();
  std::atomic<int> lost = 0;
  const std::string message = error_of(ExitCode::user, [&] {
    run_as_ranks(4, [&](Group& group) {
      barrier(group);
      if (group.rank() == 2) fail_user("disk: full");
      try {
        barrier(group);
      } catch (const RankLost& error) {
        ++lost;
        EXPECT_NE(std::string(error.what()).find("ended: "), std::string::npos) << error.what();
        throw;
      }
    });
  });
  EXPECT_EQ(message, "disk: full") << "the error that began it, not what followed from it";
  EXPECT_EQ(lost, 3);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

TEST(Group, WhatOneRankFindsWrongAllRanksThrow) {
  std::atomic<int> thrown = 0;
  run_as_ranks(3, [&](Group& group) {
    agreed(group, [] {});
    try {
      agreed(group, [&] {
        if (group.rank() > 0) fail_lacking("model {}: is not there", group.rank());
      });
    } catch (const SharedError& error) {
      ++thrown;
      EXPECT_EQ(error.code(), ExitCode::lacking);
      EXPECT_STREQ(error.what(), "rank 1: model 1: is not there");
    }
    barrier(group);
  });
  EXPECT_EQ(thrown, 3);
}

TEST(Sums, SixteenBitSumsAreRoundedOnceEach) {
  for (const DType dtype : {DType::bf16, DType::f16}) {
    std::vector<float> a(5000);
    std::vector<float> b(5000);
    for (std::size_t i = 0; i < a.size(); ++i) {
      a[i] = round_to(dtype, std::sin(static_cast<float>(i)));
      b[i] = round_to(dtype, 1 / (1 + static_cast<float>(i % 97)));
    }
    std::vector<std::byte> sum(a.size() * 2);
    std::vector<std::byte> more(a.size() * 2);
    convert(DType::f32, a.data(), dtype, sum.data(), a.size());
    convert(DType::f32, b.data(), dtype, more.data(), b.size());
    add_in(dtype, more.data(), sum.data(), a.size());
    std::vector<float> result(a.size());
    convert(dtype, sum.data(), DType::f32, result.data(), a.size());
    for (std::size_t i = 0; i < a.size(); ++i) ASSERT_EQ(result[i], round_to(dtype, a[i] + b[i])) << i;
  }
}

TEST(Launch, AProcessThatNoLauncherStartedIsAlone) {
  if (is_launched_as_rank()) GTEST_SKIP() << "a launcher started this test";
  EXPECT_EQ(launched_group()->size(), 1);
}

}  // namespace
}  // namespace assay
