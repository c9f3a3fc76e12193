#include "results/rules.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <set>

#include "base/file.h"
#include "results/made_up_test.h"
#include "results/rule_document.h"

namespace assay {
namespace {

using Change = std::function<void(Record&)>;

/// The grade and reasons of a sound record after a change.
Record judged(const Change& change) {
  std::vector<Record> records = {made_up_record("fp32", 150)};
  change(records.front());
  judge(records);
  return records.front();
}

std::string sentence(const std::vector<Finding>& findings, const std::string& rule, const std::string& precision = "") {
  for (const Finding& finding : findings) {
    if (finding.rule == rule && finding.precision == precision) return finding.text;
  }
  return "";
}

std::string sentence(std::vector<Record> records, const std::string& rule, const std::string& precision = "") {
  return sentence(judge(records), rule, precision);
}

testing::AssertionResult says(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "'" << text << "' lacks '" << part << "'";
}

TEST(Rules, HaveUniqueNamesAndWords) {
  std::set<std::string> ids;
  for (const Rule& rule : rules()) {
    EXPECT_TRUE(ids.insert(rule.id).second) << rule.id;
    EXPECT_GT(std::string(rule.states).size(), 10u) << rule.id;
    EXPECT_GT(std::string(rule.evidence).size(), 3u) << rule.id;
    const bool has_grade = rule.kind == RuleKind::gate || rule.kind == RuleKind::trust;
    EXPECT_EQ(rule.grade != ' ', has_grade) << rule.id;
    EXPECT_GT(std::string(rule.remedy).size(), 10u) << rule.id;
    EXPECT_TRUE(rule.judge || rule.check) << rule.id;
  }
}

std::string table_of_rules() {
  std::string text = "| rule | kind | grade | what it says | evidence |\n|---|---|---|---|---|\n";
  for (const Rule& rule : rules()) {
    if (!rule.judge) continue;
    const std::string grade = rule.grade == ' ' ? "" : std::string(1, rule.grade);
    text += fmt::format("| `{}` | {} | {} | {} | {} |\n", rule.id, name(rule.kind), grade, rule.states, rule.evidence);
  }
  return text;
}

/// To write it anew after a change of the rules: ASSAY_WRITE_DOCS=1 test_results
void expect_in_page(const std::string& path, const std::string& rules_table) {
  const std::string begin = "<!-- rules: written by ASSAY_WRITE_DOCS=1 test_results -->\n";
  std::string page = read_file(path);
  const auto from = page.find(begin);
  const auto to = page.find("<!-- end of rules -->");
  ASSERT_TRUE(from != std::string::npos && to != std::string::npos);
  const auto start = from + begin.size();
  if (std::getenv("ASSAY_WRITE_DOCS") != nullptr) {
    write_file_atomically(path, page.substr(0, start) + rules_table + page.substr(to));
    page = read_file(path);
  }
  EXPECT_EQ(page.substr(start, page.find("<!-- end of rules -->") - start), rules_table);
}

TEST(Rules, AreAllInTheDocuments) {
  expect_in_page(ASSAY_SOURCE_DIR "/docs/measuring.md", table_of_rules());
  expect_in_page(ASSAY_SOURCE_DIR "/docs/findings.md", rules_markdown());
}

TEST(Gate, LetsASoundRowThrough) {
  const Record record = judged([](Record&) {});
  EXPECT_EQ(record.status, Status::ok);
  EXPECT_EQ(record.trust, "A");
  ASSERT_EQ(record.trust_reasons.size(), 1u);
  EXPECT_TRUE(says(record.trust_reasons[0], "40 samples"));
}

TEST(Gate, WhatPhysicsForbidsIsImpossibleAndGradedD) {
  const struct {
    Change change;
    const char* reason;
  } cases[] = {
      {[](Record& r) { r.raw_ms[7] = -0.1; }, "a sample lasts -0.1 ms"},
      {[](Record& r) { r.instruction_ms = 1.06 * 150; }, "150 ms is 1.06x the rate"},
      {[](Record& r) { r.weight_bytes_read = 0.15 * 2e10 * 1.06 + 3.2e7; }, "weights beyond the caches"},
      {[](Record& r) {
         r.power_w = 130;
         r.power_limit_w = 125;
       },
       "130 W is above the limit of 125 W"},
      {[](Record& r) {
         r.forward_ms = 50;
         r.forward_instruction_ms = 60;
       },
       "its forward of 50.0 ms is 1.20x the rate"},
      {[](Record& r) {
         r.backward_ms = 100;
         r.backward_instruction_ms = 110;
       },
       "its backward of 100 ms is 1.10x the rate"},
      {[](Record& r) {
         r.mean_step_ms = 150;
         r.mean_forward_ms = 50;
         r.mean_backward_ms = -2.7;
         r.mean_optimizer_ms = 100;
       },
       "its phases take 147.3 ms together, its step 150.0 ms"},
      {[](Record& r) {
         r.optimizer_ms = 50;
         r.optimizer_bytes_read = 0.05 * 2e10 * 1.06 + 3.2e7;
       },
       "parameters, gradients and moments"},
  };
  for (const auto& one : cases) {
    const Record record = judged(one.change);
    EXPECT_EQ(record.status, Status::impossible) << one.reason;
    EXPECT_TRUE(says(record.reason.value_or(""), one.reason));
    EXPECT_EQ(record.trust, "D");
  }
}

TEST(Gate, AllowsFivePercentForAPeakThatWasMeasuredShort) {
  EXPECT_EQ(judged([](Record& r) { r.instruction_ms = 1.04 * 150; }).status, Status::ok);
  EXPECT_EQ(judged([](Record& r) { r.weight_bytes_read = 0.15 * 2e10 * 1.04 + 3.2e7; }).status, Status::ok);
}

TEST(Gate, PeaksOfABusyMachineBoundNothing) {
  const Record record = judged([](Record& r) {
    r.instruction_ms = r.matmul_ms = 2 * 150;
    r.weight_bytes_read = 0.15 * 2e10 * 2;
    r.peaks_measured_share = 0.4;
  });
  EXPECT_EQ(record.status, Status::ok);
  EXPECT_EQ(record.trust, "B");
  EXPECT_TRUE(says(record.trust_reasons.front(), "it got 40.0 % of its time"));
}

TEST(Gate, NothingIsComparedWithAnImpossibleBaseline) {
  std::vector<Record> records = made_up_cell();
  records[0].raw_ms[3] = 0;
  judge(records);
  EXPECT_EQ(records[0].status, Status::impossible);
  for (std::size_t i = 1; i < records.size(); ++i) {
    EXPECT_EQ(records[i].status, Status::ok);
    EXPECT_EQ(records[i].trust, "B");
    EXPECT_FALSE(records[i].speedup || records[i].kl_mean || records[i].delta_log_perplexity || records[i].mcnemar_p);
    EXPECT_TRUE(says(records[i].trust_reasons.front(), "fp32 is impossible (a sample lasts 0 ms)"));
  }
}

TEST(Gate, ASmallModelMayBeServedByTheCaches) {
  EXPECT_EQ(judged([](Record& r) {
              r.median_ms = 0.1;
              r.instruction_ms = r.matmul_ms = 0.08;
              r.weight_bytes_read = 3e7;
            }).status,
            Status::ok);
}

TEST(Gate, ASixteenBitModelIsNotLargerThanFp32) {
  std::vector<Record> records = made_up_cell();
  records[2].model_bytes = *records[0].model_bytes + 1;
  judge(records);
  EXPECT_EQ(records[2].status, Status::impossible);
  EXPECT_TRUE(says(*records[2].reason, "a 16-bit model"));
  EXPECT_EQ(records[1].status, Status::ok);
}

TEST(Trust, EachFactCapsTheGrade) {
  const struct {
    Change change;
    const char* grade;
    const char* reason;
  } cases[] = {
      {[](Record& r) { r.matmul_ms = 1.11 * 150; }, "C", "suspect"},
      {[](Record& r) { r.peaks_measured_share = 0.4; }, "B", "no gate by them"},
      {[](Record& r) { r.ci_low_ms.reset(); }, "D", "no 95 % interval"},
      {[](Record& r) { r.ci_high_ms = 1.2 * *r.median_ms; }, "C", "20.5 % wide"},
      {[](Record& r) { r.asked_width = 0.005; }, "B", "where 0.500 % was asked"},
      {[](Record& r) { r.foreign_load = 0.06; }, "B", "others used 6.00 %"},
      {[](Record& r) { r.foreign_load = 0.3; }, "C", "others used 30.0 %"},
      {[](Record& r) { r.foreign_load = 0.6; }, "D", "others used 60.0 %"},
      {[](Record& r) { r.foreign_load.reset(); }, "B", "what others used of the processors is not known"},
      {[](Record& r) { r.stolen_share.reset(); }, "B", "withheld is not known"},
      {[](Record& r) { r.stolen_share = 0.02; }, "B", "withheld 2.00 %"},
      {[](Record& r) { r.stolen_share = 0.06; }, "C", "withheld 6.00 %"},
      {[](Record& r) { r.frequency_after_mhz = 2400; }, "B", "from 2600 to 2400 MHz"},
      {[](Record& r) { r.steady = false; }, "B", "not become steady"},
      {[](Record& r) { r.p90_ms = 1.4 * *r.median_ms; }, "B", "middle 80 %"},
      {[](Record& r) { std::for_each(r.raw_ms.begin() + 20, r.raw_ms.end(), [](double& ms) { ms *= 1.1; }); }, "B",
       "slower than the first"},
      {[](Record& r) { r.major_page_faults = 2; }, "C", "2 pages were read from a disk"},
      {[](Record& r) {
         r.speedup = 2;
         r.speedup_low = 1.7;
         r.speedup_high = 2.3;
       },
       "B", "between 1.70x and 2.30x"},
      {[](Record& r) { r.ledger[1].verdict = Verdict::emulated; }, "C", "1 of 3 operations"},
      {[](Record& r) { r.energy_conflict = "a read 3 J, but b read 2 J: more than the whole"; }, "C",
       "the meters contradict each other: a read 3 J"},
      {[](Record& r) { r.stopped_by = "interrupted"; }, "C", "interrupted"},
      {[](Record& r) {
         r.warmup_steps = 1;
         r.raw_ms.front() = 1.9 * *r.median_ms;
       },
       "B", "the first step after a warm-up of 1 took 1.90x the median"},
  };
  std::size_t rules_of_trust = 0;
  for (const Rule& rule : rules()) rules_of_trust += rule.kind == RuleKind::trust ? 1 : 0;
  EXPECT_EQ(std::size(cases) + 1, rules_of_trust) << "all but baseline_impossible, which takes two rows";
  for (const auto& one : cases) {
    const Record record = judged(one.change);
    EXPECT_EQ(record.trust, one.grade) << one.reason;
    EXPECT_EQ(record.status, Status::ok);
    const bool is_said = std::any_of(record.trust_reasons.begin(), record.trust_reasons.end(),
                                     [&](const std::string& reason) { return bool(says(reason, one.reason)); });
    EXPECT_TRUE(is_said) << one.reason << " is not in " << record.trust_reasons.front();
  }
}

TEST(Trust, IsNotGivenToARowWithoutSamples) {
  std::vector<Record> records = {made_up_left_out("fp16", Status::emulated, "no instruction")};
  judge(records);
  EXPECT_FALSE(records[0].trust.has_value());
  EXPECT_EQ(records[0].status, Status::emulated);
}

TEST(Findings, AdviceNamesTheBestForEachAim) {
  const std::string text = sentence(made_up_cell(), "advice");
  EXPECT_TRUE(says(text, "for latency int8 (30.0 ms, 5.00x)"));
  EXPECT_TRUE(says(text, "for speed at fp32's quality bf16 (40.0 ms, 3.75x)"));
  EXPECT_TRUE(says(text, "for size int8 (137 MB)"));
}

TEST(Findings, AdviceForTrainingIsOfTimeAndMemory) {
  std::vector<Record> records = made_up_cell();
  records.pop_back();
  for (Record& record : records) {
    record.mode = "step";
    record.peak_bytes = 4 * *record.model_bytes;
  }
  const std::string advice = sentence(records, "advice");
  EXPECT_TRUE(says(advice, "for time bf16 (40.0 ms, 3.75x)"));
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
  EXPECT_EQ(with([](Record& r) { r.mode = "forward"; }), "");
  EXPECT_EQ(with([](Record& r) { r.recompute = "block"; }), "");
  EXPECT_EQ(with([](Record& r) { r.warmup_steps = 2; }), "");
}

TEST(Findings, NoDifferenceFoundIsNotEquality) {
  std::vector<Record> records = made_up_cell();
  for (std::size_t i = 1; i < records.size(); ++i) {
    records[i].delta_log_perplexity.reset();
    records[i].accuracy_change = 0;
    records[i].accuracy_change_low = -0.16;
    records[i].accuracy_change_high = 0.16;
    records[i].mcnemar_p = 1;
    records[i].scored = 10;
  }
  EXPECT_TRUE(says(sentence(records, "advice"), "for speed at fp32's quality fp32 (150 ms"));
  EXPECT_TRUE(says(sentence(records, "quality_unknown"),
                   "Whether the quality of mixed-bf16, bf16, int8 equals fp32's cannot be told from 10 rows"));
  EXPECT_TRUE(says(sentence(records, "mixed_quality", "mixed-bf16"), "cannot tell, 10 rows"));
  for (std::size_t i = 1; i < records.size(); ++i) {
    records[i].accuracy_change_low = -0.004;
    records[i].accuracy_change_high = 0.004;
  }
  EXPECT_TRUE(says(sentence(records, "advice"), "for speed at fp32's quality int8"));
  EXPECT_EQ(sentence(records, "quality_unknown"), "");
}

TEST(Findings, TooFewWindowsForAnIntervalTellNothing) {
  std::vector<Record> records = made_up_cell();
  records[2].delta_log_perplexity_low.reset();
  records[2].delta_log_perplexity_high.reset();
  EXPECT_TRUE(says(sentence(records, "quality_unknown"), "8,192 tokens in 64 windows"));
  EXPECT_EQ(sentence(records, "quality_changed", "bf16"), "");
}

TEST(Findings, LeaveOutRowsOfGradeD) {
  std::vector<Record> records = made_up_cell();
  records[3].ci_low_ms.reset();
  const std::vector<Finding> findings = judge(records);
  EXPECT_TRUE(says(sentence(findings, "advice"), "for latency bf16"));
  EXPECT_TRUE(says(sentence(findings, "advice"), "for size bf16"));
  EXPECT_TRUE(says(sentence(findings, "grade_d"), "Nothing is concluded from int8"));
  EXPECT_EQ(sentence(findings, "quality_changed", "int8"), "");
}

TEST(Findings, GroupsAreComparedBySpeedUpsOnly) {
  std::vector<Record> records = made_up_cell();
  records[3].group = 2;
  records[3].median_ms = 45;  // Beside a baseline that took 225 ms in its group.
  records[3].ci_low_ms = 44.9;
  records[3].ci_high_ms = 45.1;
  records[3].baseline_median_ms = 225;
  EXPECT_TRUE(says(sentence(records, "advice"), "for latency int8 (45.0 ms, 5.00x), compared with fp32 by speed-ups"));
  records[2].group = 2;
  EXPECT_EQ(sentence(records, "latency_order", "bf16"), "") << "bf16 and mixed-bf16 ran one after another";
}

TEST(Findings, OverridesAreNotJudgedByTheirRow) {
  std::vector<Record> records = made_up_cell();
  records[2].precision = "bf16[embedding=f32,head=f32]";
  records[2].model_bytes = *records[0].model_bytes + 1;
  for (LedgerRow& row : records[2].ledger) row.operand = DType::f32;
  const std::vector<Finding> findings = judge(records);
  EXPECT_EQ(records[2].status, Status::ok);
  EXPECT_EQ(sentence(findings, "size", records[2].precision), "");
  EXPECT_EQ(sentence(findings, "other_operands", records[2].precision), "");
}

TEST(Findings, AdviceSaysWhenTwoAreNotToldApart) {
  std::vector<Record> records = made_up_cell();
  records[2] = in_16_bits(compared(made_up_record("bf16", 30.1, DType::bf16), 5, 0, 0.001), DType::bf16, 6.5);
  EXPECT_TRUE(says(sentence(records, "advice"), "with bf16 not told apart from it"));
}

TEST(Findings, SayWhyAPrecisionIsSlower) {
  std::vector<Record> records = made_up_cell();
  records[2] = in_16_bits(compared(made_up_record("bf16", 290, DType::bf16), 0.52, 0, 0.001), DType::bf16, 0.5);
  EXPECT_TRUE(says(sentence(records, "slower", "bf16"), "peak at 0.500x fp32's here, 188 against 377 GFLOP/s"));
  for (LedgerRow& row : records[2].ledger) row = made_up_row("bf16", DType::f32, Verdict::widened, 0);
  EXPECT_TRUE(says(sentence(records, "slower", "bf16"), "computed in f32 from narrower storage"));
  EXPECT_TRUE(says(sentence(records, "other_operands", "bf16"), "bf16 multiplies in f32, not in bf16: widened"));
  records[2].speedup_high = 1.01;
  EXPECT_EQ(sentence(records, "slower", "bf16"), "");
  records[2].speedup_high.reset();
  EXPECT_EQ(sentence(records, "slower", "bf16"), "") << "without an interval";
}

// S = 3.75 with R = 6.5: (1/3.75 - 1/6.5) / (1 - 1/6.5) = 13.3 %.
TEST(Findings, ExplainASpeedUpBelowTheMatmulsByAmdahl) {
  EXPECT_TRUE(says(sentence(made_up_cell(), "below_matmul", "bf16"), "as if 13.3 % of fp32's time"));
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
  records[3].delta_log_perplexity.reset();
  records[3].accuracy_change = -0.021;
  records[3].mcnemar_p = 0.003;
  EXPECT_TRUE(says(sentence(records, "quality_changed", "int8"), "accuracy by -2.10 points (McNemar p = 0.0030)"));
}

TEST(Findings, ALongFirstCallIsSaidOnce) {
  std::vector<Record> records = made_up_cell();
  records[3].first_ms = 900;
  EXPECT_TRUE(says(sentence(records, "first_call"), "first run of int8 took 900 ms, 30.0x its median"));
}

TEST(Expectations, HoldForTheMadeUpCell) {
  std::vector<Record> records = made_up_cell();
  int held = 0;
  for (const Finding& finding : judge(records)) {
    if (finding.kind != RuleKind::expectation) continue;
    EXPECT_EQ(finding.met, true) << finding.text;
    EXPECT_TRUE(says(finding.text, ": as expected."));
    ++held;
  }
  EXPECT_EQ(held, 3 + 1 + 1 + 1 + 1);  // three sizes, order, throughput, mixed's quality, logits
}

TEST(Expectations, AStandInUnderTheNameOfInt8HasTheWrongSize) {
  std::vector<Record> records = made_up_cell();
  records[3].model_bytes = 269'030'016;
  EXPECT_TRUE(
      says(sentence(records, "size", "int8"), "0.500 of fp32's 538 MB (about a quarter): not, because 108 MB more"));
}

TEST(Expectations, OrderIsOnlyExpectedWhereAMatrixUnitExists) {
  std::vector<Record> records = made_up_cell();
  records[2].matmul_peak_gflops = 0.5 * 377;
  EXPECT_TRUE(
      says(sentence(records, "latency_order", "bf16"), "is not to be expected here: bf16's matmuls run at 0.500x"));
  records = made_up_cell();
  records[1] = in_16_bits(compared(made_up_record("mixed-bf16", 39, DType::bf16), 3.8, 0, 0.001), DType::bf16, 6.5);
  EXPECT_TRUE(says(sentence(records, "latency_order", "bf16"), "not, because both run the same matmuls"));
}

TEST(Expectations, ThroughputThatDoesNotFitLatencyIsSeen) {
  std::vector<Record> records = made_up_cell();
  *records[1].timed_s *= 1.25;  // Some windows took far longer than the median.
  derive(records[1]);
  EXPECT_TRUE(says(sentence(records, "throughput"), "not, because mixed-bf16 gives 0.8000 for a batch of 1"));
}

TEST(Expectations, BitIdenticalLogitsAreSeenAndExplained) {
  std::vector<Record> records = made_up_cell();
  records[2].logits_hash = records[1].logits_hash;
  EXPECT_TRUE(says(sentence(records, "distinct_logits"), "bit-identical: both ran bf16/f32 native"));
  records = made_up_cell();
  records[3].logits_hash = records[0].logits_hash;
  EXPECT_TRUE(says(sentence(records, "distinct_logits"), "one of the two does not run what it says"));
}

TEST(Expectations, MixedQualityBeyondNoiseIsNotAsExpected) {
  std::vector<Record> records = made_up_cell();
  records[1].delta_log_perplexity = 0.02;
  records[1].delta_log_perplexity_low = 0.019;
  records[1].delta_log_perplexity_high = 0.021;
  EXPECT_TRUE(says(sentence(records, "mixed_quality", "mixed-bf16"), "not, because"));
}

TEST(Judge, ComparesWithinACellAndSaysARepeatedSentenceOnce) {
  std::vector<Record> records = made_up_cell();
  for (Record record : made_up_cell()) {
    record.batch = 8;
    derive(record);
    records.push_back(record);
  }
  const auto findings = judge(records);
  const auto sizes = std::count_if(findings.begin(), findings.end(), [](const Finding& f) { return f.rule == "size"; });
  const auto advice =
      std::count_if(findings.begin(), findings.end(), [](const Finding& f) { return f.rule == "advice"; });
  EXPECT_EQ(sizes, 3);
  EXPECT_EQ(advice, 2);
}

TEST(Judge, IsSilentAboutNothing) {
  std::vector<Record> none;
  EXPECT_TRUE(judge(none).empty());
}

}  // namespace
}  // namespace assay
