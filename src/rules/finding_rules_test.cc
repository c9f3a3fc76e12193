#include <gtest/gtest.h>

#include <functional>

#include "rules/judged_test.h"

namespace assay {
namespace {

TEST(Findings, AdviceNamesTheBestForEachAim) {
  const std::string text = sentence(made_up_cell(), "advice");
  EXPECT_TRUE(says(text, "for latency int8 (30.0 ms, 5.00x [4.90, 5.10])"));
  EXPECT_TRUE(says(text, "for speed at fp32's quality bf16 (40.0 ms, 3.75x ["));
  EXPECT_TRUE(says(text, "for size int8 (137 MB)"));
}

TEST(Findings, AHostThatIsSlowerThanItsDeviceIsNamed) {
  std::vector<Record> records = {made_up_record("fp32", 150), made_up_record("bf16", 100)};
  records[0].latency.made().device_ms = 149;
  records[0].latency.made().enqueue_ms = 3;
  records[1].latency.made().device_ms = 40;
  records[1].latency.made().enqueue_ms = 95;
  records[1].setting.graphs = Switch::off;
  EXPECT_EQ(sentence(records, "host_bound", "fp32"), "");
  EXPECT_TRUE(
      says(sentence(records, "host_bound", "bf16"), "queueing a pass takes 95.0 ms, the GPU computes it in 40.0 ms"));
  EXPECT_TRUE(says(sentence(records, "host_bound", "bf16"), "--graphs on"));
}

TEST(Findings, RoundsThatWereLeftOutAreCountedAndClocksHeldDownLowerTheTrust) {
  std::vector<Record> records = {made_up_record("fp32", 150), made_up_record("bf16", 100)};
  for (Record& record : records) record.latency.made().throttled_rounds = 0;
  judge_and_keep(records);
  const Trust trust = records[1].grade.trust.value();
  EXPECT_EQ(trust, Trust::a);
  records[1].latency.made().throttled_rounds = 4;
  records[1].circumstances.made().throttle = "power cap";
  EXPECT_TRUE(says(sentence(judge_and_keep(records), "throttled_rounds", "bf16"), "held down: 4"));
  EXPECT_EQ(records[1].grade.trust.value(), Trust::b);
}

TEST(Findings, AdviceForTrainingIsOfTimeAndMemory) {
  std::vector<Record> records = made_up_cell();
  records.pop_back();
  for (Record& record : records) {
    record.setting.mode = Mode::step;
    record.memory.made().peak_bytes = 4 * *record.memory->model_bytes;
  }
  const std::string advice = sentence(records, "advice");
  EXPECT_TRUE(says(advice, "for time bf16 (40.0 ms, 3.75x ["));
  EXPECT_TRUE(says(advice, "for memory bf16 (1076 MB)"));
  EXPECT_EQ(advice.find("quality"), std::string::npos) << "nothing was scored";
}

TEST(Findings, RowsOfAnotherModeOrWarmUpAreNotCompared) {
  const auto with = [](const std::function<void(Record&)>& change) {
    std::vector<Record> records = {made_up_record("fp32", 150), compared(made_up_record("bf16", 300), 0.5, 0, 0)};
    change(records[1]);
    return sentence(records, "slower", "bf16");
  };
  EXPECT_TRUE(says(with([](Record&) {}), "bf16 is slower than fp32"));
  EXPECT_EQ(with([](Record& r) { r.setting.mode = Mode::forward; }), "");
  EXPECT_EQ(with([](Record& r) { r.setting.recompute = Recomputed::block; }), "");
  EXPECT_EQ(with([](Record& r) { r.setting.warmup_steps = 2; }), "");
}

TEST(Findings, NoDifferenceFoundIsNotEquality) {
  std::vector<Record> records = made_up_cell();
  for (std::size_t i = 1; i < records.size(); ++i) {
    records[i].difference.made().delta_log_perplexity.reset();
    records[i].difference.made().accuracy_change = 0;
    records[i].difference.made().accuracy_change_low = -0.16;
    records[i].difference.made().accuracy_change_high = 0.16;
    records[i].difference.made().mcnemar_p = 1;
    records[i].quality.made().scored = 10;
  }
  EXPECT_TRUE(says(sentence(records, "advice"), "for speed at fp32's quality fp32 (150 ms"));
  EXPECT_TRUE(says(sentence(records, "quality_unknown"),
                   "Whether the quality of mixed-bf16, bf16, int8 equals fp32's cannot be told from 10 rows"));
  EXPECT_TRUE(says(sentence(records, "mixed_quality", "mixed-bf16"), "cannot tell, 10 rows"));
  for (std::size_t i = 1; i < records.size(); ++i) {
    records[i].difference.made().accuracy_change_low = -0.004;
    records[i].difference.made().accuracy_change_high = 0.004;
  }
  EXPECT_TRUE(says(sentence(records, "advice"), "for speed at fp32's quality int8"));
  EXPECT_EQ(sentence(records, "quality_unknown"), "");
}

TEST(Findings, TooFewWindowsForAnIntervalTellNothing) {
  std::vector<Record> records = made_up_cell();
  records[2].difference.made().delta_log_perplexity_low.reset();
  records[2].difference.made().delta_log_perplexity_high.reset();
  EXPECT_TRUE(says(sentence(records, "quality_unknown"), "8,192 tokens in 64 windows"));
  EXPECT_EQ(sentence(records, "quality_changed", "bf16"), "");
}

TEST(Findings, LeaveOutRowsOfGradeD) {
  std::vector<Record> records = made_up_cell();
  records[3].latency.made().ci_low_ms.reset();
  const std::vector<Finding> findings = judge_and_keep(records);
  EXPECT_TRUE(says(sentence(findings, "advice"), "for latency bf16"));
  EXPECT_TRUE(says(sentence(findings, "advice"), "for size bf16"));
  EXPECT_TRUE(says(sentence(findings, "grade_d"), "Nothing is concluded from int8"));
  EXPECT_EQ(sentence(findings, "quality_changed", "int8"), "");
}

TEST(Findings, GroupsAreComparedBySpeedUpsOnly) {
  std::vector<Record> records = made_up_cell();
  records[3].outcome.group = 2;
  records[3].latency.made().median_ms = 45;  // Beside a baseline that took 225 ms in its group.
  records[3].latency.made().ci_low_ms = 44.9;
  records[3].latency.made().ci_high_ms = 45.1;
  records[3].speedup.made().baseline_median_ms = 225;
  EXPECT_TRUE(says(sentence(records, "advice"),
                   "for latency int8 (45.0 ms, 5.00x [4.90, 5.10]), compared with fp32 by speed-ups"));
  records[2].outcome.group = 2;
  EXPECT_EQ(sentence(records, "latency_order", "bf16"), "") << "bf16 and mixed-bf16 ran one after another";
}

TEST(Findings, OverridesAreNotJudgedByTheirRow) {
  std::vector<Record> records = made_up_cell();
  records[2].setting.precision = "bf16[embedding=f32,head=f32]";
  records[2].memory.made().model_bytes = *records[0].memory->model_bytes + 1;
  for (LedgerRow& row : records[2].evidence.ledger) row.operand = DType::f32;
  const std::vector<Finding> findings = judge_and_keep(records);
  EXPECT_EQ(records[2].outcome.status, Status::ok);
  EXPECT_EQ(sentence(findings, "size", records[2].setting.precision), "");
  EXPECT_EQ(sentence(findings, "other_operands", records[2].setting.precision), "");
}

TEST(Findings, AdviceSaysWhenTwoAreNotToldApart) {
  std::vector<Record> records = made_up_cell();
  records[2] = in_16_bits(compared(made_up_record("bf16", 30.1, DType::bf16), 5, 0, 0.001), DType::bf16, 6.5);
  records[2].latency.made().raw_ms.pop_back();  // Without rounds the intervals of the medians are what there is.
  EXPECT_TRUE(says(sentence(records, "advice"), "with bf16 not told apart from it"));
}

TEST(Findings, AdviceHoldsNothingForATieThatItsPairedSpeedUpTellsApart) {
  std::vector<Record> records = {made_up_cell()[0], made_up_cell()[2]};
  for (Record& record : records) {  // Medians so unsure that their intervals overlap, as after drift that hit both.
    record.latency.made().ci_low_ms = 20;
    record.latency.made().ci_high_ms = 200;
  }
  records[1].speedup.made().speedup_low = 2.81;
  records[1].speedup.made().speedup_high = 2.96;
  records[1].speedup.made().speedup = 2.86;
  records[1].latency.made().median_ms = 100;
  const std::string told = sentence(records, "advice");
  EXPECT_TRUE(says(told, "for latency bf16 (100 ms, 2.86x [2.81, 2.96])"));
  EXPECT_EQ(told.find("not told apart"), std::string::npos) << told;
  records[1].speedup.made().speedup_low = 0.99;
  EXPECT_TRUE(says(sentence(records, "advice"), "with fp32 not told apart from it"));
}

TEST(Findings, TwoThatAreNoBaselinesAreToldApartRoundByRound) {
  std::vector<Record> records = made_up_cell();
  for (Record& record : records) {
    record.latency.made().ci_low_ms = 0.5 * *record.latency->median_ms;
    record.latency.made().ci_high_ms = 1.4 * *record.latency->median_ms;
  }
  std::vector<double>& bf16_ms = records[2].latency.made().raw_ms;
  std::vector<double>& int8_ms = records[3].latency.made().raw_ms;
  bf16_ms.assign(20, 0);
  for (std::size_t i = 0; i < bf16_ms.size(); ++i) bf16_ms[i] = 40 + static_cast<double>(i * 7 % 20);
  int8_ms = bf16_ms;
  EXPECT_TRUE(says(sentence(records, "advice"), "bf16 not told apart from it"));
  for (double& ms : int8_ms) ms *= 0.99;  // A little in each round, whatever the rounds had in common.
  const std::string told = sentence(records, "advice");
  EXPECT_EQ(told.find(" bf16 not told apart"), std::string::npos) << told;
}

TEST(Findings, WhatIsSlowerThanTheBaselineRoundByRoundIsNotAdvisedForSpeed) {
  // Its median came out lower, in a run that drifted.
  std::vector<Record> records = {made_up_cell()[0], made_up_cell()[1]};
  Record& mixed = records[1];
  mixed = in_16_bits(compared(made_up_record("mixed-bf16", 149, DType::bf16), 0.965, 0.0001, 0.0003), DType::bf16, 0.9);
  EXPECT_TRUE(says(sentence(records, "advice"), "for latency fp32 (150 ms)"));
  EXPECT_TRUE(says(sentence(records, "advice"), "for speed at fp32's quality fp32 (150 ms), for none"));
  mixed.outcome.group = 2;
  EXPECT_TRUE(says(sentence(records, "advice"), "for speed at fp32's quality fp32 (150 ms), for none"));
}

TEST(Findings, SayWhyAPrecisionIsSlower) {
  std::vector<Record> records = made_up_cell();
  records[2] = in_16_bits(compared(made_up_record("bf16", 290, DType::bf16), 0.52, 0, 0.001), DType::bf16, 0.5);
  EXPECT_TRUE(says(sentence(records, "slower", "bf16"), "peak at 0.500x fp32's here, 188 against 377 GFLOP/s"));
  for (LedgerRow& row : records[2].evidence.ledger) row = made_up_row("bf16", DType::f32, Verdict::widened, 0);
  EXPECT_TRUE(says(sentence(records, "slower", "bf16"), "computed in f32 from narrower storage"));
  EXPECT_TRUE(says(sentence(records, "other_operands", "bf16"), "bf16 multiplies in f32, not in bf16: widened"));
  records[2].speedup.made().speedup_high = 1.01;
  EXPECT_EQ(sentence(records, "slower", "bf16"), "");
  records[2].speedup.made().speedup_high.reset();
  EXPECT_EQ(sentence(records, "slower", "bf16"), "") << "without an interval";
}

TEST(Findings, ASpeedUpBelowTheMatmulsPeakIsNotBlamedOnWhatSurroundsThem) {
  std::vector<Record> records = made_up_cell();
  EXPECT_TRUE(says(sentence(records, "below_matmul", "bf16"), "by its products or by what surrounds them"))
      << "nothing was traced";
  records[0].evidence.operation_ms = {45, 45, 46};
  records[2].evidence.operation_ms = {11, 12, 13};
  for (const std::size_t i : {0, 2}) {
    records[i].evidence.ledger.push_back(made_up_row("norm", DType::f32, Verdict::native, 3));
    records[i].evidence.ledger.back().operation = "rms_norm";
    records[i].evidence.operation_ms.push_back(4);
  }
  EXPECT_TRUE(
      says(sentence(records, "below_matmul", "bf16"),
           "its products took 36.0 ms where fp32's took 136 (3.78x as fast), all else 4.00 where it took 4.00"));
}

TEST(Findings, WeightOnlyInt8MultipliesAsItIsDefined) {
  std::vector<Record> records = made_up_cell();
  Record& weights = records[3];
  weights.setting.precision = "int8-weights";
  for (LedgerRow& row : weights.evidence.ledger) row = made_up_row("int8-weights", DType::bf16, Verdict::native, 0);
  EXPECT_EQ(sentence(records, "other_operands", "int8-weights"), "");
  EXPECT_EQ(sentence(records, "swapped_kernel", "int8-weights"), "");
  for (LedgerRow& row : weights.evidence.ledger) row.operand = DType::s8;
  EXPECT_TRUE(says(sentence(records, "swapped_kernel", "int8-weights"), "multiplied s8"));
}

TEST(Findings, AnEmulatedPrecisionIsExplainedByItsLedger) {
  std::vector<Record> records = made_up_cell();
  records[2] = in_16_bits(compared(made_up_record("bf16", 158, DType::bf16), 0.95, 0, 0.001), DType::bf16, 1.0);
  for (LedgerRow& row : records[2].evidence.ledger) {
    row.verdict = Verdict::emulated;
    row.evidence = "no bf16 product instruction; computed in f32: matmul measured at 340 GFLOP/s, 0.95x fp32";
  }
  const std::string told = sentence(records, "slower", "bf16");
  EXPECT_TRUE(says(told, "0.95x fp32"));
  EXPECT_EQ(told.find("1.00x"), std::string::npos) << told;
}

TEST(Findings, SayOfWhichShapeNothingIsConcluded) {
  std::vector<Record> records = made_up_cell();
  std::vector<Record> longer = made_up_cell();
  for (Record& record : longer) record.setting.seq = 512;
  longer[0].latency.made().ci_low_ms.reset();
  records.insert(records.end(), longer.begin(), longer.end());
  EXPECT_EQ(sentence(records, "grade_d"), "Nothing is concluded from fp32 at 1 x 512: grade D.");
}

TEST(Findings, ExplainTheSizeOfMixed) {
  const std::string text = sentence(made_up_cell(), "mixed_size", "mixed-bf16");
  EXPECT_TRUE(says(text, "stores 538 MB, as fp32 does: its weights stay f32"));
  EXPECT_TRUE(says(text, "packed for the kernels it keeps 269 MB"));
}

TEST(Findings, QualityBeyondNoiseIsSaid) {
  EXPECT_TRUE(says(sentence(made_up_cell(), "quality_changed", "int8"), "+0.0120 nat, 95 % [+0.0080, +0.0160]"));
  EXPECT_EQ(sentence(made_up_cell(), "quality_changed", "bf16"), "");
  std::vector<Record> records = made_up_cell();
  records[3].difference.made().delta_log_perplexity.reset();
  records[3].difference.made().accuracy_change = -0.021;
  records[3].difference.made().mcnemar_p = 0.003;
  EXPECT_TRUE(says(sentence(records, "quality_changed", "int8"), "accuracy by -2.10 points (McNemar p = 0.0030)"));
}

TEST(Findings, ALongFirstCallIsSaidOnce) {
  std::vector<Record> records = made_up_cell();
  records[3].latency.made().first_ms = 900;
  EXPECT_TRUE(says(sentence(records, "first_call"), "first run of int8 at 1 x 128 took 900 ms, 30.0x its median"));
}

/// A row whose output is no number, with figures that somebody wrote down all the same.
Record without_numbers(Record record) {
  record.outcome.status = Status::not_finite;
  record.outcome.reason =
      "logits holds NaN at [0, 0, 0]; the first operation that made such a value is layers.1.mlp (linear)";
  return record;
}

TEST(NotFinite, ARowIsNeverAdvisedHoweverFastAndSmall) {
  std::vector<Record> records = made_up_cell();
  Record& fastest = records.back();
  fastest = without_numbers(fastest);
  const std::vector<Finding> findings = judge_and_keep(records);
  const std::string advice = sentence(findings, "advice");
  EXPECT_NE(advice, "");
  EXPECT_EQ(advice.find(fastest.setting.precision), std::string::npos) << advice;
  EXPECT_TRUE(says(sentence(findings, "not_finite"), "layers.1.mlp (linear)"));
  for (const Finding& finding : findings)
    EXPECT_TRUE(finding.rule == "not_finite" || finding.precision != fastest.setting.precision) << finding.text;
  EXPECT_EQ(records.back().grade.trust, Trust::d);
  EXPECT_FALSE(records.back().quality->perplexity || records.back().difference->kl_mean ||
               records.back().difference->top1_agreement || records.back().quality->log_perplexity ||
               records.back().speedup->speedup || records.back().quality->logits_hash);
  EXPECT_TRUE(records.back().latency->median_ms.has_value()) << "its times stay in the record";
}

TEST(NotFinite, NothingIsComparedWithABaselineThatIsNone) {
  std::vector<Record> records = made_up_cell();
  records.front() = without_numbers(records.front());
  const std::vector<Finding> findings = judge_and_keep(records);
  EXPECT_EQ(sentence(findings, "advice"), "");
  EXPECT_TRUE(says(sentence(findings, "not_finite"), "fp32 is not finite"));
  EXPECT_TRUE(says(sentence(findings, "not_finite"), "no precision is advised"));
  for (std::size_t i = 1; i < records.size(); ++i) {
    const Record& row = records[i];
    EXPECT_TRUE(row.latency->median_ms.has_value());
    EXPECT_FALSE(row.speedup->speedup || row.difference->kl_mean || row.difference->kl_p999 ||
                 row.difference->top1_agreement || row.difference->max_logit_difference ||
                 row.difference->delta_log_perplexity || row.difference->accuracy_change ||
                 row.difference->score_pearson)
        << row.setting.precision;
    EXPECT_NE(*row.grade.trust, Trust::a) << row.setting.precision;
  }
  for (const Finding& finding : findings)
    EXPECT_EQ(finding.text.find("fp32's quality"), std::string::npos) << finding.text;
}

/// Files keep NaN as nothing: a row of an older version says that it was scored, and has no figure.
TEST(NotFinite, ARowThatLostItsFigureIsOne) {
  std::vector<Record> records = made_up_cell();
  Record& lost = records.back();
  lost.quality.made().quality_status = {QualityState::scored};
  lost.quality.made().perplexity.reset();
  lost.quality.made().log_perplexity.reset();
  lost.quality.made().accuracy.reset();
  const std::vector<Finding> findings = judge_and_keep(records);
  EXPECT_EQ(records.back().outcome.status, Status::not_finite);
  EXPECT_EQ(sentence(findings, "advice").find(records.back().setting.precision), std::string::npos);
}

}  // namespace
}  // namespace assay
