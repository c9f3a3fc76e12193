#include "studies/train_benchmark/request.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "hardware/facts_testing.h"
#include "model/testing.h"
#include "studies/peers/stand_in_peer.h"
#include "studies/shared/energy_testing.h"
#include "studies/train_benchmark/cell.h"
#include "studies/train_benchmark/record.h"

namespace assay {
namespace {

TrainBenchmarkRequest small_benchmark_request(const RecordedTree& root) {
  TrainBenchmarkRequest request;
  request.models = {gpt2_folder};
  request.batches = {2};
  request.seqs = {8};
  request.warmups = {1};
  request.steps = 8;
  request.root = root.root();
  return request;
}

bool has_rule(const Document& document, const std::string& rule) {
  return std::any_of(document.findings.begin(), document.findings.end(),
                     [&](const Finding& finding) { return finding.rule == rule; });
}

TEST(TrainBenchmark, PhasesAddUpToTheirStepAndEveryRowIsGraded) {
  const RecordedTree root;
  TrainBenchmarkRequest request = small_benchmark_request(root);
  request.precisions = {"fp32", "mixed-bf16"};
  const Document document = train_benchmark(request, facts_without_peaks, {});
  ASSERT_EQ(document.records.size(), 2u);
  for (const Record& record : document.records) {
    ASSERT_EQ(record.outcome.status, Status::ok) << record.outcome.reason.value_or("");
    EXPECT_EQ(record.setting.mode, Mode::step);
    EXPECT_EQ(record.latency->samples, 8);
    EXPECT_EQ(record.latency->warm_up_ms.size(), 1u);
    const double phases_ms =
        *record.training->mean_forward_ms + *record.training->mean_backward_ms + *record.training->mean_optimizer_ms;
    EXPECT_LE(phases_ms, *record.training->mean_step_ms * (1 + 1e-9))
        << "the step's own readings stand outside those of phases";
    EXPECT_GT(phases_ms, 0);
    EXPECT_TRUE(record.grade.trust.has_value());
    EXPECT_EQ(record.outcome.group, 1);
    EXPECT_TRUE(record.speedup->speedup.has_value());
    EXPECT_EQ(record.energy->energy_status.state, EnergyState::no_meter);
    EXPECT_FALSE(record.energy->energy_j || record.training->forward_energy_j);
    // AdamW reads parameter, gradient and both moments, all f32 in these precisions.
    EXPECT_EQ(*record.evidence.optimizer_bytes_read, 16.0 * static_cast<double>(record.setting.parameters));
    EXPECT_EQ(*record.memory->model_bytes, 4 * record.setting.parameters);
  }
}

TEST(TrainBenchmark, SaysWhereComputingAgainChangesNothing) {
  const RecordedTree root;
  TrainBenchmarkRequest request = small_benchmark_request(root);
  request.precisions = {"mixed-bf16"};
  request.fusions = {Fusion::on, Fusion::off};
  request.step.recomputes = {Recompute::none, Recompute::attention, Recompute::block};
  request.steps = 2;
  const Document document = train_benchmark(request, facts_without_peaks, {});
  std::vector<std::string> said;
  for (const Finding& finding : document.findings) {
    if (finding.rule == "recompute") said.push_back(finding.text);
  }
  ASSERT_EQ(said.size(), 1U) << "fused attention keeps no scores; without fusion, and of blocks, something is kept";
  EXPECT_NE(said[0].find("--recompute attention changes nothing in mixed-bf16"), std::string::npos) << said[0];
  const auto arena = [&](Recomputed recompute) {
    const auto row = std::ranges::find_if(document.records, [&](const Record& record) {
      return record.setting.recompute == recompute && record.setting.fusion == Switch::on;
    });
    return *row->memory->arena_bytes;
  };
  EXPECT_EQ(arena(Recomputed::attention), arena(Recomputed::none));
  EXPECT_LT(arena(Recomputed::block), arena(Recomputed::none));
}

/// A worker that says what it says of a step, of 4 ms at least.
std::string worker_that_trains(const std::string& answer) {
  return stand_in_worker("*'\"step\"'*) sleep 0.004; echo '" + answer + "' ;;");
}

Record row_of_peer(const std::string& answer) {
  const RecordedTree root;
  const StandInPeer peer("pytorch", worker_that_trains(answer));
  TrainBenchmarkRequest request = small_benchmark_request(root);
  request.precisions = {"fp32"};
  request.peers = {"pytorch"};
  request.peers_root = peer.root();
  const Document document = train_benchmark(request, facts_without_peaks, {});
  EXPECT_EQ(document.records.size(), 2U);
  EXPECT_EQ(document.records.front().speedup->speedup, 1.0) << "this program's own fp32";
  return document.records.back();
}

TEST(TrainBenchmark, AnotherProgramsStepsAreARowOfTheSameRounds) {
  const Record row = row_of_peer(R"({"seconds": 0.004, "phases_s": [0.001, 0.0025, 0.0005], "value": 6.5})");
  EXPECT_EQ(row.setting.engine, "pytorch");
  ASSERT_EQ(row.outcome.status, Status::ok) << row.outcome.reason.value_or("");
  EXPECT_EQ(row.latency->samples, 8);
  EXPECT_NEAR(row.training->step_ms.value_or(0), 4, 1e-6) << "by its own clock";
  EXPECT_NEAR(row.training->forward_ms.value_or(0), 1, 1e-6);
  EXPECT_NEAR(row.training->backward_ms.value_or(0), 2.5, 1e-6);
  EXPECT_NEAR(row.training->optimizer_ms.value_or(0), 0.5, 1e-6);
  EXPECT_GT(row.speedup->speedup.value_or(0), 0);
  EXPECT_EQ(row.evidence.ledger.size(), 1U);
  EXPECT_NE(row.setting.engine_settings->find("torch "), std::string::npos);
}

TEST(TrainBenchmark, AnotherProgramIsNotBelievedEverything) {
  const Record longer = row_of_peer(R"({"seconds": 0.004, "phases_s": [0.01, 0.02, 0.005], "value": 6.5})");
  EXPECT_EQ(longer.outcome.status, Status::crashed);
  EXPECT_EQ(longer.latency->samples, 0);
  EXPECT_EQ(row_of_peer(R"({"seconds": 5, "phases_s": [1, 2, 0.5], "value": 6})").outcome.status, Status::crashed);
  EXPECT_EQ(row_of_peer(R"({"refused": "has no memory"})").outcome.reason, "pytorch has no memory");
}

TEST(TrainBenchmark, RoundsOfAGpuHeldDownAreMeasuredAgain) {
  const RecordedTree root;
  TrainBenchmarkRequest request = small_benchmark_request(root);
  request.precisions = {"fp32", "bf16"};
  const Model model = open_model(gpt2_folder, request.model_options);
  const MachineFacts facts = facts_without_peaks();
  Power power{.source = {nullptr, "none"}};
  TrainCell cell = {model, {2, 8}, request, facts, {}, power, {}, {}};
  int readings = 0;
  cell.gpu = [&] {
    return GpuConditions{.throttle_reasons = ++readings % 16 == 0 ? 0x4U : 0U, .temperature_c = 60, .clock_mhz = 900};
  };
  cell.variants = make_variants(cell);
  run_cell(cell);
  for (const Variant& variant : cell.variants) {
    EXPECT_EQ(variant.steps.size(), 9U) << "a step of warm-up, 8 that count";
    EXPECT_GE(variant.throttled_rounds, 2);
    const Record record = record_of(cell, variant, 1);
    EXPECT_EQ(record.circumstances->frequency_after_mhz, 900);
    EXPECT_FALSE(record.circumstances->throttle.has_value()) << "of rounds that count";
  }
}

TEST(TrainBenchmark, AForwardHasNoOtherPhaseAndAThirdOfTheFlops) {
  const RecordedTree root;
  TrainBenchmarkRequest request = small_benchmark_request(root);
  const Record step = train_benchmark(request, facts_without_peaks, {}).records.at(0);
  request.parts = StepParts::forward;
  const Record forward = train_benchmark(request, facts_without_peaks, {}).records.at(0);
  EXPECT_FALSE(forward.training->backward_ms || forward.training->optimizer_ms ||
               forward.evidence.optimizer_bytes_read);
  EXPECT_EQ(*forward.evidence.flops * 3, *step.evidence.flops);
  EXPECT_LT(*forward.memory->peak_bytes, *step.memory->peak_bytes);
}

TEST(TrainBenchmark, SpeedUpsCompareRowsOfTheSameFusion) {
  const RecordedTree root;
  TrainBenchmarkRequest request = small_benchmark_request(root);
  request.fusions = {Fusion::on, Fusion::off};
  const Document document = train_benchmark(request, facts_without_peaks, {});
  ASSERT_EQ(document.records.size(), 2u);
  EXPECT_EQ(document.records[1].setting.fusion, Switch::off);
  EXPECT_EQ(document.records[1].speedup->speedup, 1) << "of fp32 over fp32";
  EXPECT_TRUE(has_rule(document, "fusion")) << "what fusion brings is said apart";
}

TEST(TrainBenchmark, AStudyOfWarmUpsHasARowEachAndSaysEachSentenceOnce) {
  const RecordedTree root;
  TrainBenchmarkRequest request = small_benchmark_request(root);
  request.warmups = {0, 2};
  const Document document = train_benchmark(request, facts_without_peaks, {});
  ASSERT_EQ(document.records.size(), 2u);
  for (const Record& record : document.records)
    EXPECT_EQ(record.latency->samples, 8) << "after every warm-up as many steps count";
  EXPECT_TRUE(document.records[0].latency->warm_up_ms.empty());
  EXPECT_EQ(document.records[1].latency->warm_up_ms.size(), 2U);
  EXPECT_EQ(document.records[0].latency->raw_ms[2], document.records[1].latency->raw_ms[0]) << "steps of one run";
  ASSERT_EQ(document.figures.size(), 2U);
  EXPECT_EQ(document.figures[0].series.at(0).points.size(), 2U);
  EXPECT_EQ(document.figures[0].series.at(1).points.at(1).y, *document.records[1].training->step_ms);
  EXPECT_EQ(document.figures[1].series.at(0).points.size(), 10U) << "the first steps are drawn";
  EXPECT_TRUE(document.records[0].grade.trust && document.records[1].grade.trust);
  EXPECT_TRUE(has_rule(document, "warm-up"));
  const auto throughput = std::count_if(document.findings.begin(), document.findings.end(),
                                        [](const Finding& finding) { return finding.rule == "throughput"; });
  EXPECT_EQ(throughput, 1);
}

/// A cell of the small model that knows of these steps.
Variant variant_after(std::vector<ReachedStep> reached, double f32_gflops) {
  static const RecordedTree root;
  static TrainBenchmarkRequest request = small_benchmark_request(root);
  static const Model model = open_model(gpt2_folder, request.model_options);
  static Power power{{nullptr, "none"}, std::nullopt};
  request.seconds = 5;
  MachineFacts facts = facts_without_peaks();
  if (f32_gflops > 0) {
    MatmulPeak& peak = facts.peaks.emplace_back();
    peak.operand = DType::f32;
    peak.matmul_gflops = f32_gflops;
  }
  facts.measured_share = 1;
  TrainCell cell = {model, {2, 8}, request, facts, {}, power, {}, {}};
  cell.reached = std::move(reached);
  return std::move(make_variants(cell).front());
}

TEST(TrainBenchmark, WhatIsTooSlowIsFoundBeforeAnythingIsPrepared) {
  EXPECT_EQ(variant_after({}, 0).status, Status::ok) << "of which nothing is known";
  EXPECT_EQ(variant_after({}, 100).status, Status::ok);
  const Variant by_peak = variant_after({}, 1e-6);
  EXPECT_EQ(by_peak.status, Status::too_slow);
  EXPECT_NE(by_peak.reason.find("best f32 matmul measured here"), std::string::npos) << by_peak.reason;
  ReachedStep smaller{
      .model = "tiny", .precision = "fp32", .extent = {1, 8}, .parameters = 100, .flops = 1, .step_s = 1};
  const Variant by_neighbour = variant_after({smaller}, 100);
  EXPECT_EQ(by_neighbour.status, Status::too_slow);
  EXPECT_NE(by_neighbour.reason.find("of tiny, 1 x 8"), std::string::npos) << by_neighbour.reason;
  EXPECT_EQ(by_neighbour.trainer, nullptr);
  smaller.precision = "bf16";
  EXPECT_EQ(variant_after({smaller}, 100).status, Status::ok) << "another precision has another rate";
  smaller = {.model = "huge", .precision = "fp32", .extent = {9, 9}, .parameters = 100, .flops = 1e30, .step_s = 1e9};
  EXPECT_EQ(variant_after({smaller}, 100).status, Status::ok) << "a longer step that was slow says nothing of it";
}

TEST(TrainBenchmark, EnergyIsOfTheStepAndOfPhasesThatTheMeterCanTell) {
  const RunningPackage package(5);
  TrainBenchmarkRequest request = small_benchmark_request(package.tree());
  request.batches = {512};
  request.steps = 3;
  const Record record = train_benchmark(request, facts_without_peaks, {}).records.at(0);
  EXPECT_EQ(to_text(record.energy->energy_status), "RAPL: package-0");
  ASSERT_TRUE(record.energy->energy_j && record.energy->energy_net_j && record.energy->power_w &&
              record.energy->energy_short_share);
  // The made-up counter is renewed by a thread, which a busy machine keeps waiting.
  const double longest_ms =
      std::max({*record.training->forward_ms, *record.training->backward_ms, *record.training->optimizer_ms});
  if (longest_ms < 30e3 * *record.energy->energy_update_s)
    GTEST_SKIP() << "the machine is too busy: the counter is renewed every " << *record.energy->energy_update_s
                 << " s only";
  EXPECT_EQ(*record.energy->energy_short_share, 0) << "such a step takes more than 20 updates of the meter";
  double phases_j = 0;
  int told = 0;
  for (const auto phase_j :
       {record.training->forward_energy_j, record.training->backward_energy_j, record.training->optimizer_energy_j}) {
    phases_j += phase_j.value_or(0);
    told += phase_j ? 1 : 0;
  }
  EXPECT_GE(told, 1);
  EXPECT_LE(phases_j, *record.energy->energy_j * (1 + 1e-6));
}

TEST(TrainBenchmark, AShortPhaseHasNoEnergyOfItsOwn) {
  const RunningPackage package(5);
  TrainBenchmarkRequest request = small_benchmark_request(package.tree());
  const Record record = train_benchmark(request, facts_without_peaks, {}).records.at(0);
  EXPECT_FALSE(record.training->forward_energy_j || record.training->optimizer_energy_j) << "these take microseconds";
  ASSERT_TRUE(record.energy->energy_short_share.has_value());
  EXPECT_GT(*record.energy->energy_short_share, 0);
}

}  // namespace
}  // namespace assay
