#include "base/team.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

#include "base/threads.h"

namespace assay {
namespace {

TEST(Team, RunsEveryThreadOnceForEveryPieceOfWork) {
  constexpr int pieces = 2000;
  std::vector<int> runs(4, 0);
  int leaders = 0;
  Team::gather(4, [&] {
    Team& team = *Team::mine();
    for (int piece = 0; piece < pieces; ++piece) {
      const int threads = 1 + piece % team.size();
      team.run(threads, [&](int thread) { ++runs[static_cast<std::size_t>(thread)]; });
      leaders += runs[0] == piece + 1;  // the work is done when `run` returns
    }
  });
  EXPECT_EQ(leaders, pieces);
  EXPECT_EQ(runs[0], pieces);
  EXPECT_EQ(Team::mine(), nullptr);
}

TEST(Team, ParallelLoopsAreItsWork) {
  set_threads(3);
  std::vector<int> seen(1000, 0);
  Team::gather(3, [&] {
    for (int round = 0; round < 10; ++round) {
      parallel_for(1000, 1, [&](std::int64_t begin, std::int64_t end) {
        EXPECT_EQ(Team::mine(), nullptr) << "work within work stays on its thread";
        for (std::int64_t i = begin; i < end; ++i) ++seen[static_cast<std::size_t>(i)];
      });
    }
  });
  EXPECT_EQ(seen, std::vector<int>(1000, 10));
}

TEST(Team, WhatTheWorkThrowsPassesThrough) {
  EXPECT_THROW(Team::gather(2, [] { throw std::runtime_error("no"); }), std::runtime_error);
  EXPECT_EQ(Team::mine(), nullptr);
}

TEST(Team, ThreadsOfABarrierSeeWhatTheOthersDidBeforeIt) {
  for (int round = 0; round < 200; ++round) {
    Barrier barrier;
    std::vector<int> before(3, 0);
    std::vector<int> sums(3, 0);
    Team::gather(3, [&] {
      on_threads(3, [&](int thread, int threads) {
        const auto own = static_cast<std::size_t>(thread);
        before[own] = 1;
        barrier.wait(threads);
        for (const int one : before) sums[own] += one;
      });
    });
    EXPECT_EQ(sums, std::vector<int>(3, 3));
  }
}

}  // namespace
}  // namespace assay
