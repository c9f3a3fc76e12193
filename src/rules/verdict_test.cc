#include "rules/verdict.h"

#include <gtest/gtest.h>

#include <functional>

#include "base/error.h"
#include "base/json.h"
#include "rules/judged_test.h"

namespace assay {
namespace {

const std::vector<std::string> fp16_and_int8 = {"fp16", "int8"};

/// fp32, fp16 and int8 of one cell, int8 the faster, smaller and worse one.
std::vector<Record> split_cell() {
  Record fp16 = in_16_bits(compared(made_up_record("fp16", 40, DType::f16), 3.75, 0.0004, 0.0005), DType::f16, 6.5);
  Record int8 = in_16_bits(compared(made_up_record("int8", 30, DType::s8), 5, 0.052, 0.002), DType::s8, 13);
  fp16.memory.made().peak_bytes = 289'000'000;
  int8.memory.made().peak_bytes = 157'000'000;
  int8.memory.made().model_bytes = 137'000'000;
  int8.evidence.weight_bytes_read = 1.37e8;
  return {compared(made_up_record("fp32", 150), 1, 0, 0), fp16, int8};
}

void meter(Record& record, double joules, double bound_j) {
  record.energy.made().energy_j = joules;
  record.energy.made().energy_uncertainty_j = bound_j;
  record.energy.made().energy_status = {EnergyState::metered, "RAPL: package-0"};
}

/// The records as they would lie on a GPU, so many times as fast.
std::vector<Record> on_gpu(std::vector<Record> records, double factor) {
  for (Record& record : records) {
    record.setting.device = "cuda";
    for (double& ms : record.latency.made().raw_ms) ms /= factor;
    for (const auto member : {&Latency::median_ms, &Latency::ci_low_ms, &Latency::ci_high_ms})
      *(record.latency.made().*member) /= factor;
  }
  return records;
}

Document told(std::vector<Record> records, const std::vector<std::string>& rows = fp16_and_int8) {
  Document document{.records = std::move(records)};
  tell_verdict(rows, document);
  return document;
}

std::string text_of(const Document& document) {
  std::string text;
  for (const std::string& one : document.sentences.at(0).texts) text += one + "\n";
  return text;
}

/// What the table has under `key` for an aim of a precision, in cells.
Json cell_of(const Document& document, const std::string& aim, const std::string& precision, const std::string& key) {
  const Json json = Json::parse(to_json(document).dump());
  for (const Json& row : json.at("verdict").at("rows")) {
    if (row.at("aim") == aim && row.at("precision") == precision && row.at("scope") == "cell") return row.at(key);
  }
  return "no such row";
}

TEST(PrecisionVerdict, ClearOnEveryAimIsTakenForEveryAim) {
  std::vector<Record> records = split_cell();
  meter(records[1], 2, 0.1);
  meter(records[2], 1, 0.05);
  records[2].difference.made().delta_log_perplexity = -0.05;
  records[2].difference.made().delta_log_perplexity_low = -0.054;
  records[2].difference.made().delta_log_perplexity_high = -0.046;
  const Document document = told(records);
  const std::string text = text_of(document);
  for (const char* aim : {"latency", "throughput", "energy", "memory", "size", "quality"})
    EXPECT_EQ(cell_of(document, aim, "int8", "stands"), "take") << aim;
  EXPECT_EQ(text.find("Not settled"), std::string::npos) << text;
  EXPECT_TRUE(says(text, "for latency and throughput int8 (30.0 ms; 1.33x [1.33, 1.33] as fast as fp16)")) << text;
  EXPECT_TRUE(says(text, "for energy int8 (1.00 J; fp16 takes 2.00x [")) << text;
  EXPECT_TRUE(says(text, "for size int8 (137 MB; fp16 takes 1.96x)")) << text;
}

TEST(PrecisionVerdict, AimsThatPartAreNamedEach) {
  const Document document = told(split_cell());
  const std::string text = text_of(document);
  EXPECT_EQ(cell_of(document, "latency", "int8", "stands"), "take");
  EXPECT_EQ(cell_of(document, "quality", "fp16", "stands"), "take");
  EXPECT_EQ(cell_of(document, "quality", "int8", "stands"), "worse");
  EXPECT_TRUE(says(text, "for quality fp16 (")) << text;
  EXPECT_TRUE(says(text, "int8 loses 0.0516 nat [0.0466, 0.0566]")) << "both intervals are in it: " << text;
  EXPECT_TRUE(says(text, "Not settled: energy (no meter: /sys/class/powercap is absent).")) << text;
}

TEST(PrecisionVerdict, WhatTheIntervalLeavesOpenIsNotSettled) {
  std::vector<Record> records = split_cell();
  for (std::size_t i = 0; i < 40; ++i) {  // Over processes 0.9 to 1.3 times as fast.
    const std::size_t process = i / 8;
    records[2].latency.made().raw_ms[i] = 40 / (0.9 + 0.1 * static_cast<double>(process));
  }
  const Document document = told(records);
  EXPECT_EQ(cell_of(document, "latency", "int8", "stands"), "take") << "the best by its figure; the other is open";
  EXPECT_EQ(cell_of(document, "latency", "fp16", "stands"), "not settled");
  EXPECT_TRUE(says(text_of(document), "Not settled: latency and throughput (int8 ")) << text_of(document);
  EXPECT_TRUE(says(text_of(document), "the interval contains 1")) << text_of(document);
}

TEST(PrecisionVerdict, NearEqualsWhoseIntervalSaysSoAreAlike) {
  std::vector<Record> records = split_cell();
  records[2] = records[1];
  records[2].setting.precision = "int8";
  const Document document = told(records);
  EXPECT_EQ(cell_of(document, "size", "int8", "stands"), "alike");
  EXPECT_EQ(cell_of(document, "latency", "int8", "stands"), "alike");
  EXPECT_TRUE(says(text_of(document), "for quality fp16 or int8 (")) << text_of(document);
  EXPECT_TRUE(says(text_of(document), "alike within 0.01 nat or 1 point")) << text_of(document);
}

TEST(PrecisionVerdict, QualityThatWasNotScoredOrIsOfRandomWeightsIsNotJudged) {
  std::vector<Record> records = split_cell();
  for (Record& record : records) {
    record.quality.made() = {.quality_status = {QualityState::not_asked}};
    record.difference.reset();
  }
  EXPECT_TRUE(says(text_of(told(records)), "quality (not scored)"));
  records = split_cell();
  for (Record& record : records) record.quality.made().quality_status = {QualityState::random_weights};
  EXPECT_TRUE(says(text_of(told(records)), "quality (random weights have none)"));
}

TEST(PrecisionVerdict, AccuracyIsTheMoreTheBetter) {
  std::vector<Record> records = split_cell();
  for (std::size_t i : {1U, 2U}) {
    records[i].difference = Difference{.accuracy_change = i == 1 ? -0.05 : 0.0,
                                       .accuracy_change_low = i == 1 ? -0.06 : -0.002,
                                       .accuracy_change_high = i == 1 ? -0.04 : 0.002};
    records[i].quality.made() = {.quality_status = {QualityState::scored}, .accuracy = 0.9};
  }
  const std::string text = text_of(told(records));
  EXPECT_TRUE(says(text, "for quality int8 (accuracy 90.00 %; fp16 loses 5.00 points [3.80, 6.20])")) << text;
}

TEST(PrecisionVerdict, EnergyWithinTheMetersBoundIsNotSettled) {
  std::vector<Record> records = split_cell();
  meter(records[1], 2, 0.5);
  meter(records[2], 1.8, 0.5);
  EXPECT_TRUE(says(text_of(told(records)), "energy (int8 1.80 J, fp16 2.00 J, 1.11x ["));
  meter(records[2], 1.8, 1.9);
  EXPECT_TRUE(says(text_of(told(records)), "there is no interval")) << "the bound leaves no figure";
  records[2].energy.made() = {.energy_status = {EnergyState::no_meter, "the counter stood still"}};
  EXPECT_TRUE(says(text_of(told(records)), "energy (int8: no meter: the counter stood still)"));
}

TEST(PrecisionVerdict, AFindingAgainstItsEnergyLeavesTheOtherAimsAlone) {
  Document document{.records = split_cell()};
  meter(document.records[1], 2, 0.1);
  meter(document.records[2], 1, 0.05);
  const Setting& setting = document.records[2].setting;
  document.findings = {{.rule = "busy_energy",
                        .model = setting.model,
                        .batch = setting.batch,
                        .seq = setting.seq,
                        .precision = "int8",
                        .severity = Severity::medium}};
  tell_verdict(fp16_and_int8, document);
  EXPECT_TRUE(says(text_of(document), "energy (int8: the finding busy_energy stands against it)"));
  EXPECT_EQ(cell_of(document, "latency", "int8", "stands"), "take");
  document.findings[0].rule = "nothing_changed";
  document.findings[0].severity = Severity::high;
  tell_verdict(fp16_and_int8, document);
  EXPECT_TRUE(says(text_of(document), "nothing to choose: fp16 alone has figures. Left out: int8 (the finding"));
}

TEST(PrecisionVerdict, RowsThatProveNothingAreLeftOutWithTheirReason) {
  const auto left_out = [](const std::function<void(Record&)>& change) {
    std::vector<Record> records = split_cell();
    change(records[2]);
    return text_of(told(records));
  };
  EXPECT_TRUE(says(
      left_out([](Record& row) { row.outcome = {.status = Status::impossible, .reason = "faster than its peak"}; }),
      "Left out: int8 (impossible: faster than its peak)."));
  EXPECT_TRUE(
      says(left_out([](Record& row) { row.outcome = {.status = Status::emulated, .reason = "no instruction"}; }),
           "int8 (emulated: no instruction)"));
  EXPECT_TRUE(says(
      left_out([](Record& row) { row.grade = {.trust = Trust::d, .trust_reasons = {"D at best: others used 40 %"}}; }),
      "int8 (grade D at best: others used 40 %)"));
  EXPECT_TRUE(says(left_out([](Record& row) { row.seal.state = Seal::State::broken; }), "int8 (it is not as it was"));
  EXPECT_TRUE(says(left_out([](Record& row) { row.setting.precision = "bf16"; }), "int8 (not measured)"));
}

TEST(PrecisionVerdict, ARowThatRanSomethingElseIsSaidToHave) {
  std::vector<Record> records = split_cell();
  for (LedgerRow& row : records[1].evidence.ledger) {
    row.operand = DType::f32;
    row.verdict = Verdict::widened;
  }
  records[2].grade.trust = Trust::c;
  const std::string text = text_of(told(records));
  EXPECT_TRUE(says(text, "fp16 multiplied in f32, not in f16 (widened): its figures are of that.")) << text;
  EXPECT_TRUE(says(text, "int8 is of grade C.")) << text;
}

TEST(PrecisionVerdict, ProxiesStandBesideWhatWasMeasured) {
  const Document document = told(split_cell());
  EXPECT_TRUE(
      says(text_of(document),
           "By bits alone int8 would be 2.00x as fast as fp16, by the bytes that a run reads 1.96x, by the matmul "
           "peaks measured here 2.00x; measured 1.33x ["))
      << text_of(document);
  const Json json = Json::parse(to_json(document).dump());
  EXPECT_EQ(json.at("verdict").at("proxies").at(0).at("says"), "claims too much");
}

TEST(PrecisionVerdict, RowsOfTwoDevicesAreToldApartByMoreThanRunsMove) {
  std::vector<Record> records = split_cell();
  const std::vector<Record> gpu = on_gpu(split_cell(), 10);
  records.insert(records.end(), gpu.begin(), gpu.end());
  const std::string text = text_of(told(records));
  EXPECT_TRUE(says(text,
                   "smollm2-135m, 1 x 128, between places: Take for latency and throughput int8 on cuda (3.00 ms; "
                   "10.0x ["))
      << text;
  EXPECT_TRUE(says(text, "as fast as int8 on cpu, measured apart)")) << text;
  records.resize(3);
  const std::vector<Record> near = on_gpu(split_cell(), 1.1);
  records.insert(records.end(), near.begin(), near.end());
  EXPECT_TRUE(says(text_of(told(records)), "between places: Not settled: latency and throughput"))
      << text_of(told(records));
}

TEST(PrecisionVerdict, ThroughputOverBatchesHasASentenceOfItsOwn) {
  std::vector<Record> records = split_cell();
  for (Record record : split_cell()) {
    record.setting.batch = 8;
    for (double& ms : record.latency.made().raw_ms) ms *= 4;
    for (const auto member : {&Latency::median_ms, &Latency::ci_low_ms, &Latency::ci_high_ms})
      *(record.latency.made().*member) *= 4;
    records.push_back(record);
  }
  const std::string text = text_of(told(records));
  EXPECT_TRUE(says(text, "over all batches: Take for throughput int8 at batch 8 (66.7 sequences/s at batch 8; 1.33x ["))
      << text;
}

TEST(PrecisionVerdict, RowsOfSeveralRunsAreNeverPaired) {
  std::vector<Record> a = split_cell();
  std::vector<Record> b = split_cell();
  a.pop_back();
  b.erase(b.begin() + 1);
  const VerdictSource sources[] = {{a, {}}, {b, {}}};
  Document document;
  tell_verdict(fp16_and_int8, sources, document);
  EXPECT_TRUE(says(text_of(document), "fp16 alone has figures. Left out: int8 (not measured)")) << text_of(document);
  std::vector<Record> both = split_cell();
  both.push_back(both.back());
  EXPECT_TRUE(says(text_of(told(both)), "int8 (it stands there more than once)"));
}

TEST(PrecisionVerdict, StandsBesideTheRecordsAndIsMadeAnewWhenRead) {
  const Document document = told(split_cell());
  EXPECT_FALSE(tells_in_their_place(document));
  EXPECT_EQ(rows_of_verdict(document), fp16_and_int8);
  Document read = document_from_json(Json::parse(to_json(document).dump()), "run.json");
  EXPECT_EQ(to_json(read).dump(), to_json(document).dump());
  read.records[2].outcome = {.status = Status::oom, .reason = "9 GB"};
  tell_verdict(rows_of_verdict(read), read);
  EXPECT_EQ(read.sentences.size(), 1U);
  EXPECT_TRUE(says(text_of(read), "Left out: int8 (oom: 9 GB)"));
}

TEST(PrecisionVerdict, NamesAreThoseOfTheTableAndAtLeastTwo) {
  const std::vector<std::string> words = {"fp16", "int8", "fp16"};
  EXPECT_EQ(verdict_rows(words), fp16_and_int8);
  EXPECT_THROW(verdict_rows(std::vector<std::string>{"int8"}), Error);
  EXPECT_THROW(verdict_rows(std::vector<std::string>{"int8", "int7"}), Error);
  EXPECT_TRUE(says(text_of(told({})), "No record is of fp16 or int8."));
}

}  // namespace
}  // namespace assay
