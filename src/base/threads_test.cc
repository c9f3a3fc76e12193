#include "base/threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <vector>

namespace assay {
namespace {

TEST(ParallelFor, VisitsEveryIndexOnceForAnyCountAndThreads) {
  const int before = omp_get_max_threads();
  for (const int threads : {1, 2, 3, 8}) {
    set_threads(threads);
    for (const std::int64_t count : {0, 1, 2, 7, 1000}) {
      std::vector<std::atomic<int>> visits(static_cast<std::size_t>(count));
      parallel_for(count, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) ++visits[static_cast<std::size_t>(i)];
      });
      for (const auto& seen : visits) ASSERT_EQ(seen.load(), 1);
    }
  }
  set_threads(before);
}

TEST(ParallelFor, PartsAreNotSmallerThanTheGrainAllows) {
  const int before = omp_get_max_threads();
  set_threads(8);
  std::mutex guard;
  int parts = 0;
  parallel_for(250, 100, [&](std::int64_t, std::int64_t) {
    const std::lock_guard lock(guard);
    ++parts;
  });
  EXPECT_LE(parts, 3);
  set_threads(before);
}

TEST(ParallelFor, InsideAParallelRegionRunsWholeOnTheCaller) {
  std::atomic<int> whole = 0;
#pragma omp parallel num_threads(2)
  {
    parallel_for(100, 1, [&](std::int64_t begin, std::int64_t end) {
      if (begin == 0 && end == 100) ++whole;
    });
  }
  EXPECT_GE(whole.load(), 1);
}

}  // namespace
}  // namespace assay
