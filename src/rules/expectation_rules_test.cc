#include <gtest/gtest.h>

#include "results/derive.h"
#include "rules/judged_test.h"

namespace assay {
namespace {

TEST(Expectations, HoldForTheMadeUpCell) {
  std::vector<Record> records = made_up_cell();
  int held = 0;
  for (const Finding& finding : judge_and_keep(records)) {
    if (finding.kind != RuleKind::expectation) continue;
    EXPECT_EQ(finding.met, true) << finding.text;
    EXPECT_TRUE(says(finding.text, ": as expected."));
    ++held;
  }
  EXPECT_EQ(held, 3 + 1 + 1 + 1 + 1);  // three sizes, order, throughput, mixed's quality, logits
}

TEST(Expectations, AStandInUnderTheNameOfInt8HasTheWrongSize) {
  std::vector<Record> records = made_up_cell();
  records[3].memory.made().model_bytes = 269'030'016;
  EXPECT_TRUE(
      says(sentence(records, "size", "int8"), "0.500 of fp32's 538 MB (about a quarter): not, because 108 MB more"));
}

TEST(Expectations, OrderIsOnlyExpectedWhereAMatrixUnitExists) {
  std::vector<Record> records = made_up_cell();
  records[2].evidence.matmul_peak_gflops = 0.5 * 377;
  EXPECT_TRUE(
      says(sentence(records, "latency_order", "bf16"), "is not to be expected here: bf16's matmuls run at 0.500x"));
  records = made_up_cell();
  records[1] = in_16_bits(compared(made_up_record("mixed-bf16", 39, DType::bf16), 3.8, 0, 0.001), DType::bf16, 6.5);
  EXPECT_TRUE(says(sentence(records, "latency_order", "bf16"), "not, because both run the same matmuls"));
}

TEST(Expectations, AnOrderHoldsOnlyWhereEachIsToldApartFromTheNext) {
  const auto with_rounds_alike = [](std::size_t one, std::size_t other, double lower_by) {
    std::vector<Record> records = made_up_cell();
    Latency& a = records[one].latency.made();
    Latency& b = records[other].latency.made();
    b = a;
    for (std::size_t i = 0; i < b.raw_ms.size(); ++i) b.raw_ms[i] *= i / 8 % 2 == 0 ? 0.95 : 1.05;  // By process.
    *b.median_ms *= 1 - lower_by;
    return sentence(records, "latency_order", "bf16");
  };
  for (const double lower_by : {0.001, -0.001}) {
    const std::string told = with_rounds_alike(1, 2, lower_by);
    EXPECT_TRUE(says(told, "cannot tell, mixed-bf16 and bf16 are not told apart, 95 % [")) << lower_by;
  }
}

TEST(Expectations, ThroughputThatDoesNotFitLatencyIsSeen) {
  std::vector<Record> records = made_up_cell();
  *records[1].latency.made().timed_s *= 1.25;  // Some windows took far longer than the median.
  records[1].rates = rates_of(records[1]);
  EXPECT_TRUE(says(sentence(records, "throughput"), "not, because mixed-bf16 gives 0.8000 for a batch of 1"));
  records[1].latency.made().items = 0.8 * static_cast<double>(*records[1].latency->timed_runs);
  EXPECT_FALSE(says(sentence(records, "throughput"), "not, because mixed-bf16")) << "a phase counts its own items";
}

TEST(Expectations, BitIdenticalLogitsAreSeenAndExplained) {
  std::vector<Record> records = made_up_cell();
  records[2].quality.made().logits_hash = records[1].quality->logits_hash;
  EXPECT_TRUE(says(sentence(records, "distinct_logits"), "bit-identical: both ran bf16/f32 native"));
  records = made_up_cell();
  records[3].quality.made().logits_hash = records[0].quality->logits_hash;
  EXPECT_TRUE(says(sentence(records, "distinct_logits"), "one of the two does not run what it says"));
}

TEST(Expectations, MixedQualityBeyondNoiseIsNotAsExpected) {
  std::vector<Record> records = made_up_cell();
  records[1].difference.made().delta_log_perplexity = 0.02;
  records[1].difference.made().delta_log_perplexity_low = 0.019;
  records[1].difference.made().delta_log_perplexity_high = 0.021;
  EXPECT_TRUE(says(sentence(records, "mixed_quality", "mixed-bf16"), "not, because"));
}

}  // namespace
}  // namespace assay
