#include "published/check.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/json.h"
#include "published/checked_test.h"

namespace assay {
namespace {

TEST(Stories, Bf16OnComputeCapability75IsEmulated) {
  const auto all = checked(
      "## DistilBERT on a Tesla T4, batch size 1\n\n"
      "| Precision | Latency (ms) | Energy (mJ) |\n|---|---:|---:|\n"
      "| FP32 | 8.21 | 520 |\n| FP16 | 3.02 | 190 |\n| BF16 | 9.64 | 610 |\n");
  expect(all, "emulated", Severity::high, "a T4 has no bf16 products (compute capability 7.5)");
  expect(all, "slower", Severity::medium, "they are emulated");
}

TEST(Stories, MixedSlowerThanFp32IsOverheadBoundAndNotImpossible) {
  const std::string page =
      "| Format | Latency | Speedup | Energy | Throughput |\n|---|---|---|---|---|\n"
      "| FP32 | 11.7ms | 1.0x | 580mJ | 85 samp/s |\n"
      "| FP16 | 10.4ms | 1.13x ✓ | 370mJ ✓ | 96 samp/s ✓ |\n"
      "| Mixed | 13.5ms | 0.87x ❌ | 630mJ ❌ | 74 samp/s ❌ |\n";
  const auto all = checked(page);
  expect(all, "slower", Severity::medium, "overhead-bound");
  EXPECT_FALSE(has_high(all));
  for (const Complaint& one : all) EXPECT_EQ(one.sentence.find("impossible"), std::string::npos) << one.sentence;
  EXPECT_EQ(find(all, "ratio_mismatch"), nullptr);
}

TEST(Stories, WithoutItsCauseInTheTableSlowerIsHighAndStillNotCalledImpossible) {
  const auto all = checked("| Precision | Latency |\n|---|---|\n| FP32 | 11.7 ms |\n| Mixed | 13.5 ms |\n");
  expect(all, "slower", Severity::high, "not impossible (overhead-bound");
}

TEST(Stories, Int8OnTheCpuHasTheEnergyOfAnIdleGpu) {
  const auto all = checked(
      "# INT8 on a T4\n\n"
      "| Metric | FP32 | FP16 | INT8 |\n|---|---|---|---|\n"
      "| **Latency** | 3.4ms | 0.7ms | 48ms ❌ |\n| **Energy** | 226 mJ | 47 mJ | 1411 mJ ❌ |\n");
  expect(all, "idle_device_energy", Severity::high, "29.4 W is what a GPU draws that waits");
  EXPECT_EQ(find(all, "idle_device_energy")->column, "INT8");
  // 47 mJ / 0.7 ms is 67 W, rounding included at most 73 W: a T4's limit of 70 W is not exceeded for certain.
  EXPECT_EQ(find(all, "power_limit"), nullptr);
}

TEST(Stories, Int8WithFp16sExactFiguresIsFp16) {
  const auto all = checked(
      "| Precision | Latency (ms) | Energy (mJ) | Model Size (MB) |\n|---|---|---|---|\n"
      "| FP32 | 3.4 | 226 | 268 |\n| FP16 | 0.7 | 47 | 134 |\n| INT8† | 0.7 | 47 | 134 |\n");
  expect(all, "nothing_changed", Severity::high, "what ran under the name int8 is fp16");
  EXPECT_EQ(find(all, "nothing_changed")->row, "INT8");
}

TEST(Stories, APerplexityOf217IsScoredPadding) {
  const std::string table = "| Format | Perplexity |\n|---|---|\n| FP32 | 217 |\n| FP16 | 217 |\n";
  expect(checked("# GPT-2 results\n\n" + table), "perplexity_range", Severity::high, "padding that is scored as text");
  expect(checked(table, {.device = nullptr, .model = find_known_model("gpt2"), .columns = {}}), "perplexity_range",
         Severity::high, "which gpt2 reaches");
  expect(checked(table), "perplexity_range", Severity::medium, "name the model with --model");
}

TEST(Stories, ANegativeBackwardWasSubtracted) {
  const auto all = checked(
      "| Size | fwd_avg (ms) | fwd_std (ms) | bwd_avg (ms) | bwd_std (ms) | total_avg (ms) | total_std (ms) |\n"
      "|---|---|---|---|---|---|---|\n| small | 58.3 | 58.1 | -2.7 | 82.0 | 55.6 | 57.9 |\n");
  expect(all, "negative_duration", Severity::high, "-2.7");
  expect(all, "std_above_mean", Severity::medium, "exceeds its mean");
  expect(all, "derived_by_subtraction", Severity::medium, "root of the squares");
  expect(checked("| Pass | Time |\n|---|---|\n| backward | −2.7 ms ± 82 ms |\n"), "negative_duration", Severity::high,
         "2.7 ms ± 82 ms is negative");
}

TEST(Claims, ARatioIsComparedWithItsOwnFigures) {
  const std::string table = "| Precision | Latency |\n|---|---|\n| FP32 | 3.4 ms |\n| FP16 | 0.7 ms |\n";
  expect(checked("- **1411 mJ energy** (30x more than FP32's 225 mJ!)\n\n" + table), "claim_mismatch", Severity::high,
         "is 6.2");
  EXPECT_EQ(find(checked("- **48ms latency** (67x slower than FP16's 0.7ms)\n\n" + table), "claim_mismatch"), nullptr);
  EXPECT_EQ(find(checked("It is 30x more fun than 225 mJ.\n\n" + table), "claim_mismatch"), nullptr);
}

TEST(Claims, ASpeedUpIsComparedWithTheLatencies) {
  const auto all = checked(
      "| Precision | Latency (ms) | Speed-up |\n|---|---|---|\n| FP32 | 100 | 1.0x |\n| FP16 | 50 | 3.1x |\n| INT8 | "
      "40 | 2.5x |\n");
  expect(all, "ratio_mismatch", Severity::high, "3.1x is claimed, but the figures give 2.00x");
  EXPECT_EQ(find(all, "ratio_mismatch", "INT8"), nullptr);
}

TEST(Claims, APercentageMayCountEitherWay) {
  const std::string head = "| Metric | FP32 | FP16 |\n|---|---|---|\n";
  EXPECT_EQ(find(checked(head + "| Latency | 88.39 ms | 83.54 ms (5.5% faster) |\n"), "ratio_mismatch"), nullptr);
  EXPECT_EQ(find(checked(head + "| Latency | 88.39 ms | 83.54 ms (5.8% faster) |\n"), "ratio_mismatch"), nullptr);
  EXPECT_NE(find(checked(head + "| Latency | 88.39 ms | 83.54 ms (25% faster) |\n"), "ratio_mismatch"), nullptr);
}

TEST(Rounding, AFigureIsWhatItMayHaveBeen) {
  // 0.7 is 0.65 to 0.75: 3.4 / 0.7 may be anything from 4.5 to 5.3.
  for (const char* claim : {"4.6x", "5.2x"}) {
    const auto all = checked(fmt::format(
        "| Precision | Latency (ms) | Speedup |\n|---|---|---|\n| FP32 | 3.4 | 1.0x |\n| FP16 | 0.7 | {} |\n", claim));
    EXPECT_EQ(find(all, "ratio_mismatch"), nullptr) << claim;
  }
}

TEST(Layouts, MinIsTheLeastAndInBracketsMinutes) {
  for (const char* header : {"latency_min", "Time min", "Latency, min"}) {
    const auto tables = read(fmt::format("| Precision | {} |\n|---|---|\n| FP32 | 3.4 |\n", header));
    EXPECT_TRUE(tables[0].rows.empty()) << header;
  }
  const auto tables = read("| Precision | Time (min) |\n|---|---|\n| FP32 | 3.4 |\n");
  ASSERT_EQ(tables[0].rows.size(), 1u);
  EXPECT_DOUBLE_EQ(tables[0].rows[0].find(Quantity::latency)->figure.value, 3.4 * 6e4);
}

TEST(Layouts, EverydayWordsAreModelsOnlyBesideTheirFamily) {
  const std::string table = "| Model | Latency (ms) |\n|---|---|\n| large | 3.4 |\n";
  EXPECT_EQ(read("# Whisper\n\n" + table)[0].rows.at(0).model, nullptr);
  EXPECT_EQ(read("# CS336, assignment 2\n\n" + table)[0].rows.at(0).model, find_known_model("cs336-large"));
}

TEST(Layouts, WhatIsTooManyToCompareIsSaid) {
  std::string page = "| Precision | Latency (ms) |\n|---|---|\n";
  for (int i = 0; i < 201; ++i) page += fmt::format("| FP16 | {} |\n", 10 + i);
  expect(checked(page), "nothing_changed", Severity::info, "201 rows of one setting");
}

TEST(Layouts, StruckOutRowsAreSkippedAndSaid) {
  const auto json = check_json("| Format | Latency |\n|---|---|\n| FP32 | 11.7ms |\n| ~~Mixed~~ | ~~13.5ms~~ |\n");
  EXPECT_EQ(json.at("tables").at(0).at("rows"), 1);
  EXPECT_EQ(json.at("tables").at(0).at("struck_rows"), 1);
}

TEST(Layouts, PrecisionsMayBeColumnsOrStandInHeaders) {
  const auto across = read("| Metric | FP32 | BF16 |\n|---|---|---|\n| Latency (ms) | 4.0 | 2.0 |\n");
  ASSERT_EQ(across[0].rows.size(), 2u);
  EXPECT_DOUBLE_EQ(across[0].rows[1].find(Quantity::latency)->figure.value, 2.0);
  const auto wide =
      read("| Model | FP32 fwd (s) | BF16 fwd (s) | Speedup |\n|---|---|---|---|\n| small | 0.04 | 0.02 | 2.0x |\n");
  ASSERT_EQ(wide[0].rows.size(), 2u);
  EXPECT_DOUBLE_EQ(wide[0].rows[1].find(Quantity::forward)->figure.value, 20.0);
  EXPECT_NE(wide[0].rows[1].find(Quantity::speedup), nullptr);
}

TEST(Layouts, PlainTextTablesAreRead) {
  const auto tables = read(
      "CS336\n\nModel      Params       Forward (s)     Backward (s)\n"
      "------------------------------------------------------\n"
      "small_seq128 128,625,408 0.024990±0.003563 0.038322±0.002954\n"
      "xl_seq128  1,998,235,200 0.147299±0.000618 0.310275±0.001511\n\nthe end\n");
  ASSERT_EQ(tables.size(), 1u);
  ASSERT_EQ(tables[0].rows.size(), 2u);
  const Observation& row = tables[0].rows[1];
  EXPECT_DOUBLE_EQ(row.find(Quantity::parameters)->figure.value, 1998235200.0);
  EXPECT_NEAR(row.find(Quantity::backward_std)->figure.value, 1.511, 1e-9);
  EXPECT_DOUBLE_EQ(row.find(Quantity::seq)->figure.value, 128);
  EXPECT_EQ(row.model, find_known_model("cs336-xl"));
}

TEST(Layouts, AColumnCanBeMapped) {
  TableContext context;
  context.columns = {parse_mapping("Zeit=latency:s")};
  const auto tables = read("| Precision | Zeit |\n|---|---|\n| FP32 | 0.5 |\n", context);
  EXPECT_DOUBLE_EQ(tables[0].rows.at(0).find(Quantity::latency)->figure.value, 500);
  EXPECT_THROW(parse_mapping("Zeit"), Error);
  EXPECT_THROW(parse_mapping("Zeit=weather"), Error);
  EXPECT_THROW(parse_mapping("Zeit=latency:furlong"), Error);
}

TEST(Layouts, NothingRecognisedIsSaid) {
  const auto json = check_json("| Fruit | Colour |\n|---|---|\n| apple | red |\n");
  EXPECT_EQ(json.at("tables").at(0).at("rows"), 0);
  EXPECT_NE(json.at("notes").at(0).get<std::string>().find("nothing recognised"), std::string::npos);
}

TEST(SoundTables, RaiseNothingHigh) {
  expect_nothing_high(
      "## GPT-2 small on an A100, batch size 1\n\n"
      "| Precision | Latency (ms) | Speed-up | Energy (mJ) | Perplexity | Size (MB) |\n|---|---|---|---|---|---|\n"
      "| FP32 | 7.42 ± 0.05 | 1.00x | 890 | 29.9 | 498 |\n| TF32 | 5.10 ± 0.04 | 1.45x | 640 | 29.9 | 498 |\n"
      "| BF16 | 4.31 ± 0.03 | 1.72x | 480 | 30.1 | 249 |\n| INT8 | 4.02 ± 0.06 | 1.85x | 410 | 30.6 | 166 |\n");
  expect_nothing_high(
      "DistilBERT, SST-2, Tesla T4\n\n| | FP32 | FP16 |\n|---|---|---|\n| Latency | 3.4 ms | 0.7 ms |\n| Energy | 226 "
      "mJ | 47 mJ |\n"
      "| Accuracy | 91.06 % | 91.06 % |\n| Size | 268 MB | 134 MB |\n");
  expect_nothing_high(
      "CS336 on an RTX 4090, batch size 4, context length 512\n\n| Model | FP32 fwd (ms) | BF16 fwd (ms) | Speedup "
      "|\n|---|---:|---:|---:|\n"
      "| small | 14.2 | 9.1 | 1.56x |\n| medium | 41.0 | 19.5 | 2.10x |\n| xl | OOM | 60.1 | - |\n");
  expect_nothing_high(
      "| Model | Forward (s) | Backward (s) | Total (s) |\n|---|---|---|---|\n| small | 0.035 ± 0.001 | 0.043 ± 0.001 "
      "| 0.077 ± 0.001 |\n"
      "| medium | 0.071 ± 0.001 | 0.082 ± 0.003 | 0.153 ± 0.004 |\n");
  expect_nothing_high(
      "H100\n\n| dtype | tokens/s | Memory (GB) |\n|---|---|---|\n| fp16 | 5.8k tok/s | 14.2 |\n| fp8 | 9.1k tok/s | "
      "8.3 |\n");
}

const char* const whole_int8 = "| Precision | Size (MB) |\n|---|---|\n| FP32 | 255.42 |\n| INT8 | 255.42 |\n";

TEST(Json, HasWhatAFindingNeeds) {
  const OrderedJson json = check_json(whole_int8);
  const OrderedJson& first = json.at("findings").at(0);
  for (const char* key : {"id", "severity", "file", "table", "row", "column", "evidence", "sentence", "remedy"})
    EXPECT_TRUE(first.contains(key)) << key;
  EXPECT_EQ(first.at("id"), "size");
  EXPECT_EQ(first.at("row"), "INT8");
  EXPECT_EQ(first.at("column"), "Size (MB)");
  EXPECT_EQ(json.at("schema"), "assay-check-1");
  EXPECT_EQ(json.at("counts").at("high"), 1);
  EXPECT_EQ(json.at("tables").at(0).at("columns").size(), 2U);
  EXPECT_TRUE(json.at("tables").at(0).at("device").is_null());
}

TEST(Json, ComesBackAsADocument) {
  const std::string text = check_json(whole_int8).dump();
  const Document read = document_from_json(parse_json(text, "check.json"), "check.json");
  EXPECT_TRUE(read.findings.empty()) << "they are a table's";
  EXPECT_EQ(to_json(read).dump(), text);
}

TEST(Remedies, OfTheGraverFindingsAreSaidOnce) {
  const OrderedJson json = check_json(std::string(whole_int8) + "| INT8 (CPU) | 255.42 |\n");
  EXPECT_GE(json.at("counts").at("high"), 2);
  ASSERT_EQ(json.at("remedies").size(), 1U);
  EXPECT_EQ(json.at("remedies").at(0).get<std::string>().find("size: "), 0U);
}

}  // namespace
}  // namespace assay
