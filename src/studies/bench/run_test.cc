#include "studies/bench/request.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "formats/npy.h"
#include "hardware/facts_testing.h"
#include "hardware/recorded_tree.h"
#include "model/testing.h"
#include "results/record.h"
#include "studies/bench/contenders.h"
#include "studies/shared/energy_testing.h"
#include "studies/shared/plan_record.h"

namespace assay {
namespace {

BenchRequest small_bench_request() {
  BenchRequest request;
  request.models = {gpt2_folder};
  request.precisions = {"fp32"};
  request.seqs = {8};
  request.rounds = 8;
  request.seconds = 0.05;
  request.quality = QualityMode::none;
  return request;
}

/// So many rows of 24 ids.
void write_rows(const std::filesystem::path& folder, std::int64_t rows) {
  std::vector<std::int32_t> ids;
  for (std::int64_t i = 0; i < rows * 24; ++i) ids.push_back(static_cast<std::int32_t>(i * i % 59));
  write_npy(folder / "input_ids.npy", NpyType::s32, {rows, 24}, std::as_bytes(std::span(ids)));
}

TEST(Bench, WhatAddsInF16IsHeldAgainstItsInstruction) {
  MachineFacts facts;
  facts.peaks.resize(1);
  facts.peaks[0].operand = DType::f16;
  facts.peaks[0].instruction_gflops = 800;
  facts.peaks[0].matmul_gflops = 300;
  Evidence evidence;
  evidence.ledger.resize(1);
  evidence.ledger[0].operand = evidence.ledger[0].accumulator = DType::f16;
  evidence.ledger[0].flops = 1e9;
  set_peaks(facts, evidence);
  EXPECT_EQ(evidence.peak_gflops, 800);
  EXPECT_FALSE(evidence.matmul_peak_gflops) << "matmuls that add in f32 say nothing about it";
  evidence.ledger[0].accumulator = DType::f32;
  set_peaks(facts, evidence);
  EXPECT_EQ(evidence.peak_gflops, 300);
}

TEST(Bench, SaysWhatEachOperationMovesAndTakes) {
  const Document document = bench(small_bench_request(), facts_without_peaks, {});
  ASSERT_EQ(document.records.size(), 1U);
  const Record& record = document.records.front();
  ASSERT_FALSE(record.evidence.ledger.empty());
  ASSERT_EQ(record.evidence.operation_bytes.size(), record.evidence.ledger.size());
  ASSERT_EQ(record.evidence.operation_ms.size(), record.evidence.ledger.size());
  ASSERT_EQ(record.memory->live_bytes.size(), record.evidence.ledger.size());
  const double moved =
      std::accumulate(record.evidence.operation_bytes.begin(), record.evidence.operation_bytes.end(), 0.0);
  EXPECT_DOUBLE_EQ(moved, record.evidence.moved_bytes.value_or(0));
  for (const double ms : record.evidence.operation_ms) EXPECT_GT(ms, 0);
  const double most = *std::max_element(record.memory->live_bytes.begin(), record.memory->live_bytes.end());
  EXPECT_GT(most, 0);
  EXPECT_LE(most, static_cast<double>(record.memory->arena_bytes.value_or(0)));
}

TEST(Bench, EnergyIsGrossNetAndMarkedAndNeverAboveTheLimitUnseen) {
  const RunningPackage package(50);
  BenchRequest request = small_bench_request();
  request.root = package.root();
  request.seconds = 2;  // Room for the meter's windows within the rounds, also where its file is written late.
  const Document document = bench(request, facts_without_peaks, {});
  const Record& record = document.records.at(0);
  EXPECT_EQ(to_text(record.energy->energy_status), "RAPL: package-0");
  ASSERT_TRUE(record.energy->energy_j && record.energy->energy_net_j && record.energy->idle_power_w &&
              record.energy->power_w);
  EXPECT_GT(*record.energy->idle_power_w, 0);
  EXPECT_GE(*record.latency->repetitions, 2) << "windows are made long enough for the meter";
  EXPECT_NEAR(*record.energy->energy_net_j,
              *record.energy->energy_j * (1 - *record.energy->idle_power_w / *record.energy->power_w), 1e-9);
  ASSERT_TRUE(record.energy->energy_short_share.has_value());
  EXPECT_EQ(record.energy->power_limit_w, 10);
  EXPECT_EQ(record.outcome.status, Status::impossible) << "50 W where the package is limited to 10";
}

TEST(Bench, WithoutAMeterNothingIsMadeUp) {
  const RecordedTree empty;
  BenchRequest request = small_bench_request();
  request.root = empty.root();
  const Record record = bench(request, facts_without_peaks, {}).records.at(0);
  EXPECT_EQ(record.energy->energy_status.state, EnergyState::no_meter);
  EXPECT_FALSE(record.energy->energy_j || record.energy->energy_net_j || record.energy->idle_power_w ||
               record.energy->power_w);
}

TEST(Bench, WhatScoringLacksMemoryForCostsNoTiming) {
  BenchRequest request = small_bench_request();
  const RecordedTree data;
  write_rows(data.root(), 512);
  request.quality = QualityMode::automatic;
  request.data = data.root();
  request.protocol.batch = 1 << 20;
  const auto facts = [] {
    MachineFacts machine = read_machine_facts();
    machine.available_bytes = 8'000'000;
    return machine;
  };
  const Record record = bench(request, facts, {}).records.at(0);
  EXPECT_EQ(record.outcome.status, Status::ok);
  EXPECT_EQ(record.latency->samples, 8);
  EXPECT_TRUE(to_text(record.quality->quality_status).starts_with("oom: memory: "));
}

TEST(Bench, AnInterruptBeforeScoringIsSaid) {
  BenchRequest request = small_bench_request();
  const RecordedTree data;
  write_rows(data.root(), 4);
  request.quality = QualityMode::automatic;
  request.data = data.root();
  std::atomic<bool> interrupted = false;
  StudyCallbacks callbacks;
  callbacks.interrupted = &interrupted;
  callbacks.progress = [&](const std::string& what, double) {
    if (what.find("sampling") != std::string::npos) interrupted = true;
  };
  const Record record = bench(request, facts_without_peaks, callbacks).records.at(0);
  EXPECT_EQ(to_text(record.quality->quality_status),
            record.outcome.status == Status::ok ? "interrupted before anything was scored" : "not run: interrupted");
}

TEST(Bench, QualityThatWasInterruptedIsNoFinalFigure) {
  BenchRequest request = small_bench_request();
  const RecordedTree data;
  write_rows(data.root(), 4);
  request.quality = QualityMode::automatic;
  request.data = data.root();
  request.protocol.batch = 1;
  std::atomic<bool> interrupted = false;
  StudyCallbacks callbacks;
  callbacks.interrupted = &interrupted;
  callbacks.progress = [&](const std::string& what, double) {
    if (what.find("quality on") != std::string::npos) interrupted = true;
  };
  const Record record = bench(request, facts_without_peaks, callbacks).records.at(0);
  ASSERT_TRUE(record.quality->perplexity);
  EXPECT_EQ(to_text(record.quality->quality_status), "interrupted after 24 of 96 tokens");
  EXPECT_GE(*record.grade.trust, Trust::c);
}

TEST(Bench, TimeLeftCoversTheGrid) {
  BenchRequest request = small_bench_request();
  request.rounds = 0;
  request.seconds = 0.2;
  request.seqs = {4, 8, 12};
  double most_s = 0;
  StudyCallbacks callbacks;
  callbacks.progress = [&](const std::string&, double left_s) { most_s = std::max(most_s, left_s); };
  bench(request, facts_without_peaks, callbacks);
  EXPECT_GT(most_s, 2 * request.seconds) << "two more cells follow the first";
}

TEST(Groups, RepeatTheBaselineOnlyWhereItFitsBesideTheNext) {
  const Model model = open_model(gpt2_folder, {});
  BenchRequest request = small_bench_request();
  MachineFacts facts = read_machine_facts();
  const std::int64_t fp32 = make_instance(model, "fp32", request.engine, facts)->missing_bytes({1, 1});
  const std::vector<Contender> asked = {{"fp32", ""}, {"bf16", ""}, {"fp16", ""}};
  const auto groups_within = [&](double times_fp32) {
    facts.available_bytes = static_cast<std::int64_t>(times_fp32 * static_cast<double>(fp32) / 0.75);
    return group_precisions(model, request, asked, facts);
  };
  EXPECT_EQ(groups_within(10).size(), 1u);
  const auto apart = groups_within(1.2);
  ASSERT_EQ(apart.size(), 2u);
  EXPECT_EQ(apart[1], (std::vector<Contender>{{"bf16", ""}, {"fp16", ""}})) << "fp32 beside them would not fit";
  const auto paired = groups_within(1.8);
  ASSERT_EQ(paired.size(), 2u);
  EXPECT_EQ(paired[1].front(), (Contender{"fp32", ""}));
}

TEST(Groups, RowsKnowTheirGroupAndItsBaseline) {
  BenchRequest request = small_bench_request();
  request.precisions = {"fp32", "bf16", "fp16"};
  request.emulated = Emulated::included;
  const Model model = open_model(gpt2_folder, {});
  const std::int64_t fp32 = make_instance(model, "fp32", request.engine, read_machine_facts())->missing_bytes({1, 1});
  const auto facts = [&] {
    MachineFacts machine = read_machine_facts();
    machine.available_bytes = static_cast<std::int64_t>(1.8 * static_cast<double>(fp32) / 0.75);
    return machine;
  };
  const std::vector<Record> records = bench(request, facts, {}).records;
  ASSERT_EQ(records.size(), 3u) << "a repeated baseline is one row";
  EXPECT_EQ(records[0].outcome.group, 1);
  EXPECT_EQ(records[2].outcome.group, 2);
  if (records[2].outcome.status == Status::ok) {
    EXPECT_TRUE(records[2].speedup->baseline_median_ms.has_value());
    EXPECT_TRUE(records[2].speedup->speedup.has_value());
  }
}

}  // namespace
}  // namespace assay
