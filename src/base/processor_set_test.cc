#include "base/processor_set.h"

#include <gtest/gtest.h>

#include <latch>
#include <thread>

namespace assay {
namespace {

/// The first of the set alone.
ProcessorSet one_processor_of(const ProcessorSet& set) {
  ProcessorSet first;
  for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
    if (!CPU_ISSET(processor, &set.processors)) continue;
    CPU_SET(processor, &first.processors);
    break;
  }
  return first;
}

TEST(ProcessorSet, ThreadsComeBackToWhereTheyMightRunBefore) {
  const ProcessorSet all = own_processors();
  if (all.count() < 2) GTEST_SKIP() << "one processor alone";
  const ProcessorSet one = one_processor_of(all);
  std::latch narrowed(1);
  std::latch looked(1);
  std::latch ended(1);
  ProcessorSet of_other;
  std::thread other([&] {
    narrowed.wait();
    of_other = own_processors();
    looked.count_down();
    ended.wait();
  });
  {
    const OnProcessors narrow(one);
    EXPECT_TRUE(own_processors() == one);
    std::thread([&] { EXPECT_TRUE(own_processors() == one) << "made meanwhile"; }).join();
    narrowed.count_down();
    looked.wait();
    const OnProcessors wide(all);
    EXPECT_TRUE(own_processors() == all);
  }
  EXPECT_TRUE(own_processors() == all);
  EXPECT_TRUE(of_other == one);
  ended.count_down();
  other.join();
}

TEST(ProcessorSet, UnionHasTheProcessorsOfBoth) {
  ProcessorSet both;
  CPU_SET(3, &both.processors);
  ProcessorSet other;
  CPU_SET(5, &other.processors);
  both |= other;
  EXPECT_EQ(both.count(), 2);
  EXPECT_FALSE(both == other);
}

}  // namespace
}  // namespace assay
