#include "runtime/arena.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/random.h"

namespace assay {
namespace {

TEST(Arena, BuffersThatLiveTogetherNeverOverlap) {
  Random random(7);
  for (int round = 0; round < 50; ++round) {
    std::vector<Lifetime> buffers;
    for (int i = 0; i < 60; ++i) {
      const int first = static_cast<int>(random.below(40));
      buffers.push_back(
          {static_cast<std::int64_t>(random.below(5000)), first, first + static_cast<int>(random.below(8)), -1});
    }
    const std::int64_t total = arrange(buffers);
    for (std::size_t a = 0; a < buffers.size(); ++a) {
      EXPECT_EQ(buffers[a].offset % 64, 0);
      EXPECT_LE(buffers[a].offset + buffers[a].bytes, total);
      for (std::size_t b = 0; b < a; ++b) {
        const bool together = buffers[a].first <= buffers[b].last && buffers[b].first <= buffers[a].last;
        const bool apart = buffers[a].offset + buffers[a].bytes <= buffers[b].offset ||
                           buffers[b].offset + buffers[b].bytes <= buffers[a].offset;
        EXPECT_TRUE(!together || apart || buffers[a].bytes == 0 || buffers[b].bytes == 0);
      }
    }
  }
}

TEST(Arena, ALongChainNeedsTwoBuffers) {
  std::vector<Lifetime> chain;
  for (int i = 0; i < 100; ++i) chain.push_back({640, i, i + 1, -1});
  EXPECT_EQ(arrange(chain), 2 * 640);
}

}  // namespace
}  // namespace assay
