#include <fmt/format.h>
#include <gtest/gtest.h>

#include "published/checked_test.h"

namespace assay {
namespace {

TEST(PublishedPhysics, PowerAboveTheBoardsLimitIsImpossible) {
  const auto all =
      checked("# On a T4\n\n| Precision | Latency (ms) | Energy (mJ) |\n|---|---|---|\n| FP32 | 3.40 | 460 |\n");
  expect(all, "power_limit", Severity::high, "above the 70.0 W that a T4 may draw");
}

TEST(PublishedPhysics, ARateAboveFp32sPeakWasNotFp32) {
  const std::string page =
      "A100, batch size 8, context length 512, model gpt2-xl\n\n| Precision | Forward (ms) |\n|---|---|\n| FP32 | 130 "
      "|\n";
  expect(checked(page), "instruction_peak", Severity::high, "TF32 or 16 bits");
  const std::string near =
      "A100, batch size 8, context length 512, model gpt2-xl\n\n| Precision | Forward (ms) |\n|---|---|\n| FP32 | 720 "
      "|\n";
  expect(checked(near), "near_peak", Severity::medium, "was TF32 allowed?");
}

TEST(PublishedPhysics, TimesThatFollowLayersAreLaunches) {
  const auto all = checked(
      "# CS336\n\n| Model | Forward Time (s) | Backward Time (s) |\n|---|---|---|\n"
      "| small | 0.035 ± 0.001 | 0.043 ± 0.001 |\n| medium | 0.071 ± 0.001 | 0.082 ± 0.003 |\n"
      "| large | 0.119 ± 0.004 | 0.129 ± 0.005 |\n| xl | 0.171 ± 0.004 | 0.174 ± 0.003 |\n");
  expect(all, "launch_bound", Severity::medium, "forward times follow the number of layers");
}

TEST(PublishedPhysics, WeightsCannotBeReadFasterThanMemory) {
  const auto all = checked(
      "L4, batch size 1\n\n| Precision | Model | Latency (ms) |\n|---|---|---|\n| FP16 | Llama-2-7B | 12.0 |\n");
  expect(all, "bandwidth", Severity::high, "above the 300 of a L4");
}

TEST(PublishedPhysics, BoardsThatAreFasterAreNotTheirSmallerNamesakes) {
  // 1.10 ms of 2 x 123.65e6 x 128 is 28.8 TFLOP/s: above a 3070's 20.3, below a 3080's 30.6; 608 GB/s is a 3070 Ti's.
  const std::string rows = "\n\n| Precision | Latency (ms) |\n|---|---|\n| BF16 | 0.45 |\n";
  expect(checked("GPT-2 on an RTX 3070, batch size 1, context length 128" + rows), "bandwidth", Severity::high,
         "above the 448 of a RTX 3070");
  EXPECT_EQ(find(checked("GPT-2 on an RTX 3070 Ti, batch size 1, context length 128" + rows), "bandwidth"), nullptr);
}

TEST(PublishedPhysics, SlowHalvesAreComputedInFloats) {
  // 7.5 TFLOP/s: far above a P40's 0.19 in f16 instructions, below its 12 in f32.
  const auto all = checked(
      "gpt2-xl on a P40, batch size 4, context length 512\n\n| Precision | Forward (ms) |\n|---|---|\n"
      "| FP32 | 900 |\n| FP16 | 850 |\n| Mixed | 840 |\n");
  EXPECT_FALSE(has_high(all));
  expect(all, "slow_precision", Severity::medium, "of fp32's rate");
}

TEST(PublishedPhysics, MixedReadsItsWeightsIn16Bits) {
  // Llama-2-7B takes 13.2 GB in 16 bits: 244 GB/s; in 32 bits it would be 489.
  const auto page = [](const std::string& precision) {
    return "L4, batch size 1\n\n| Precision | Model | Latency (ms) |\n|---|---|---|\n| " + precision +
           " | Llama-2-7B | 54.0 |\n";
  };
  EXPECT_EQ(find(checked(page("Mixed")), "bandwidth"), nullptr);
  EXPECT_NE(find(checked(page("FP32")), "bandwidth"), nullptr);
}

TEST(PublishedPhysics, ADeviceWithoutTf32IsNotSaidToHaveUsedIt) {
  const auto all = checked(
      "K80, batch size 8, context length 512, model gpt2-xl\n\n| Precision | Forward (ms) |\n|---|---|\n| FP32 | 130 "
      "|\n");
  ASSERT_NE(find(all, "instruction_peak"), nullptr);
  EXPECT_EQ(find(all, "instruction_peak")->sentence.find("TF32"), std::string::npos);
}

TEST(Sizes, FollowTheStoredDtype) {
  const std::string head = "| Precision | Size (MB) |\n|---|---|\n| FP32 | 255.42 |\n";
  expect(checked(head + "| INT8 | 255.42 |\n"), "size", Severity::high, "still stored in 32 bits");
  expect(checked(head + "| FP16 | 300 |\n"), "size_16_bit", Severity::high, "larger than FP32's");
  expect(checked(head + "| INT8 | 138 |\n"), "size", Severity::high, "nothing says what stays wider");
  EXPECT_FALSE(has_high(checked(head + "| INT8 (embeddings fp32) | 138 |\n")));
  EXPECT_EQ(find(checked(head + "| INT8 | 105 |\n"), "size"), nullptr) << "embeddings often stay wider";
  EXPECT_EQ(find(checked(head + "| Mixed | 255.42 |\n"), "size"), nullptr);
}

TEST(Sizes, FollowTheParameters) {
  expect(checked("# GPT-2\n\n| Precision | Model size (MB) |\n|---|---|\n| FP32 | 124 |\n"), "size_parameters",
         Severity::high, "in 32.0 bits take 498 MB");
}

TEST(Throughput, TimesLatencyIsTheBatch) {
  expect(checked("| Precision | Batch | Latency (ms) | Throughput (samples/s) |\n|---|---|---|---|\n| FP32 | 8 | 100 | "
                 "800 |\n"),
         "throughput", Severity::high, "which gives 80.0 samp/s");
  EXPECT_EQ(find(checked("| Precision | Batch | Latency (ms) | Throughput (samples/s) |\n|---|---|---|---|\n| FP32 | 8 "
                         "| 100 | 79 |\n"),
                 "throughput"),
            nullptr);
}

TEST(Accuracy, WithinNoiseIsSaid) {
  expect(checked("| Precision | Accuracy (%) | Samples |\n|---|---|---|\n| FP32 | 86.0 | 50 |\n| INT8 | 88.0 | 50 |\n"),
         "accuracy_noise", Severity::info, "+2.00 points on 50.0 rows are within noise");
}

TEST(Accuracy, RunsAreNotScoredRows) {
  EXPECT_EQ(
      find(checked("| Precision | Accuracy (%) | Runs |\n|---|---|---|\n| FP32 | 86.0 | 5 |\n| INT8 | 88.0 | 5 |\n"),
           "accuracy_noise"),
      nullptr);
}

}  // namespace
}  // namespace assay
