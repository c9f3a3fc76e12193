#include <algorithm>

#include "hardware/peaks.h"

#include <gtest/gtest.h>

#include "base/clock.h"
#include "hardware/bandwidth.h"
#include "hardware/isa_cap.h"
#include "hardware/machine.h"
#include "hardware/peak_loops.h"

namespace assay {
namespace {

TEST(PeakLoops, EveryOperandDtypeHasOneAndF32NeedsNothing) {
  for (const DType operand : {DType::f32, DType::f16, DType::bf16, DType::s8}) {
    bool found = false;
    for (const PeakLoop& loop : peak_loops()) found = found || loop.operand == operand;
    EXPECT_TRUE(found) << name(operand);
  }
  EXPECT_EQ(peak_loops().front().needs, nullptr);
}

/// A loop that an optimiser had emptied would take the same time for any number of rounds.
TEST(PeakLoops, TimeGrowsWithTheRounds) {
  const InstructionSets isa = read_machine_facts().isa;
  for (const PeakLoop& loop : peak_loops()) {
    if (loop.needs && !(isa.*loop.needs)) continue;
    double few_s = 1e9;
    double many_s = 1e9;
    for (int i = 0; i < 5; ++i) {
      const double begin_s = now_s();
      loop.run(1000);
      const double middle_s = now_s();
      loop.run(100000);
      few_s = std::min(few_s, middle_s - begin_s);
      many_s = std::min(many_s, now_s() - middle_s);
    }
    EXPECT_GT(many_s, 10 * few_s) << loop.instruction;
  }
}

TEST(Peaks, TheCapTakesInstructionsAway) {
  const std::vector<InstructionPeak> peaks = measure_instruction_peaks(find_isa_cap("baseline").allowed, 1);
  ASSERT_EQ(peaks.size(), 4u);
  EXPECT_EQ(peaks[0].set, "sse2");
  EXPECT_GT(peaks[0].gflops, 0);
  for (std::size_t i = 1; i < peaks.size(); ++i) {
    EXPECT_EQ(peaks[i].gflops, 0) << name(peaks[i].operand);
    EXPECT_TRUE(peaks[i].set.empty());
  }
}

TEST(Bandwidth, TheBufferIsSeveralTimesTheLastCacheWithinMemory) {
  MachineFacts facts;
  facts.available_bytes = std::int64_t{64} << 30;
  EXPECT_EQ(bandwidth_buffer_bytes(facts), std::int64_t{256} << 20);
  facts.caches = {{.level = 3, .bytes = std::int64_t{480} << 20, .shared_by_cores = 8}};
  EXPECT_EQ(bandwidth_buffer_bytes(facts), std::int64_t{1920} << 20);
  facts.available_bytes = std::int64_t{1} << 30;
  EXPECT_EQ(bandwidth_buffer_bytes(facts), std::int64_t{256} << 20);
}

TEST(Bandwidth, IsMeasuredForOneCoreAndForAll) {
  MachineFacts facts;
  facts.threads = 2;
  facts.available_bytes = std::int64_t{128} << 20;
  const Bandwidth bandwidth = measure_read_bandwidth(facts);
  EXPECT_EQ(bandwidth.buffer_bytes, std::int64_t{32} << 20);
  EXPECT_GT(bandwidth.one_core_gbs, 0);
  EXPECT_GT(bandwidth.all_cores_gbs, 0);
}

}  // namespace
}  // namespace assay
