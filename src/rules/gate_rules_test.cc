#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "rules/judged_test.h"

namespace assay {
namespace {

using Change = std::function<void(Record&)>;

/// The grade and reasons of a sound record after a change.
Record judged(const Change& change) {
  std::vector<Record> records = {made_up_record("fp32", 150)};
  change(records.front());
  judge_and_keep(records);
  return records.front();
}

TEST(Gate, LetsASoundRowThrough) {
  const Record record = judged([](Record&) {});
  EXPECT_EQ(record.outcome.status, Status::ok);
  EXPECT_EQ(record.grade.trust, Trust::a);
  ASSERT_EQ(record.grade.trust_reasons.size(), 1u);
  EXPECT_TRUE(says(record.grade.trust_reasons[0], "40 samples"));
}

TEST(Gate, WhatPhysicsForbidsIsImpossibleAndGradedD) {
  const struct {
    Change change;
    const char* reason;
  } cases[] = {
      {[](Record& r) { r.latency.made().raw_ms[7] = -0.1; }, "a sample lasts -0.1 ms"},
      {[](Record& r) { r.evidence.instruction_ms = 1.06 * 150; }, "150 ms is 1.06x the rate"},
      {[](Record& r) { r.evidence.weight_bytes_read = 0.15 * 2e10 * 1.06 + 3.2e7; }, "weights beyond the caches"},
      {[](Record& r) {
         r.energy.made().power_w = 132;
         r.energy.made().power_limit_w = 125;
       },
       "132 W is above 1.05x the limit of 125 W"},
      {[](Record& r) {
         r.training.made().forward_ms = 50;
         r.evidence.forward_instruction_ms = 60;
       },
       "its forward of 50.0 ms is 1.20x the rate"},
      {[](Record& r) {
         r.training.made().backward_ms = 100;
         r.evidence.backward_instruction_ms = 110;
       },
       "its backward of 100 ms is 1.10x the rate"},
      {[](Record& r) {
         r.training.made().mean_step_ms = 150;
         r.training.made().mean_forward_ms = 50;
         r.training.made().mean_backward_ms = -2.7;
         r.training.made().mean_optimizer_ms = 100;
       },
       "its phases take 147.3 ms together, its step 150.0 ms"},
      {[](Record& r) {
         r.training.made().optimizer_ms = 50;
         r.evidence.optimizer_bytes_read = 0.05 * 2e10 * 1.06 + 3.2e7;
       },
       "parameters, gradients and moments"},
  };
  for (const auto& one : cases) {
    const Record record = judged(one.change);
    EXPECT_EQ(record.outcome.status, Status::impossible) << one.reason;
    EXPECT_TRUE(says(record.outcome.reason.value_or(""), one.reason));
    EXPECT_EQ(record.grade.trust, Trust::d);
  }
}

/// An interpreter that reads the clock between phases takes time of its own, which is much of a short step.
TEST(Gate, AllowsAFewTenthsOfAMillisecondBetweenPhases) {
  const auto with_step = [](double step_ms) {
    return judged([&](Record& r) {
      r.training.made().mean_forward_ms = 2;
      r.training.made().mean_backward_ms = 4;
      r.training.made().mean_optimizer_ms = 1.3;
      r.training.made().mean_step_ms = step_ms;
    });
  };
  EXPECT_EQ(with_step(7.4).outcome.status, Status::ok);
  EXPECT_EQ(with_step(7.6).outcome.status, Status::impossible);
  EXPECT_EQ(with_step(7.15).outcome.status, Status::impossible) << "phases are longer than the step";
}

TEST(Gate, AllowsFivePercentForAPeakThatWasMeasuredShort) {
  EXPECT_EQ(judged([](Record& r) { r.evidence.instruction_ms = 1.04 * 150; }).outcome.status, Status::ok);
  EXPECT_EQ(judged([](Record& r) { r.evidence.weight_bytes_read = 0.15 * 2e10 * 1.04 + 3.2e7; }).outcome.status,
            Status::ok);
}

TEST(Gate, AllowsWhatTheMetersUncertaintyLeavesOpen) {
  const auto with = [](double power_w, double uncertainty_j) {
    return judged([&](Record& r) {
      r.energy.made().energy_j = 10;
      r.energy.made().energy_uncertainty_j = uncertainty_j;
      r.energy.made().power_w = power_w;
      r.energy.made().power_limit_w = 100;
    });
  };
  EXPECT_EQ(with(104, 0).outcome.status, Status::ok) << "a limit holds on average";
  EXPECT_EQ(with(150, 4).outcome.status, Status::ok) << "90 W at least";
  EXPECT_EQ(with(150, 12).outcome.status, Status::ok) << "nothing at least";
  const Record impossible = with(150, 2);
  EXPECT_EQ(impossible.outcome.status, Status::impossible);
  EXPECT_TRUE(says(*impossible.outcome.reason, "150 W (at least 120 W) is above 1.05x the limit of 100 W"));
}

std::vector<Finding> findings_of_gates(std::vector<Record>& records) {
  std::vector<Finding> findings = judge_and_keep(records);
  std::erase_if(findings, [](const Finding& finding) { return finding.kind != RuleKind::gate; });
  return findings;
}

TEST(Gate, SpeaksAgainOfRowsThatAStoreKept) {
  std::vector<Record> records = made_up_cell();
  records[0].latency.made().raw_ms[3] = 0;
  const std::vector<Finding> first = findings_of_gates(records);
  const std::vector<Finding> again = findings_of_gates(records);
  ASSERT_EQ(first.size(), 1u);
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].rule, "negative_duration");
  EXPECT_EQ(again[0].text, first[0].text);
}

TEST(Gate, WhatWasImpossibleStaysSoWithoutItsEvidence) {
  std::vector<Record> records = {made_up_record("fp32", 150)};
  records[0].outcome.status = Status::impossible;
  records[0].outcome.reason = "a 16-bit model of 600 MB beside 538 MB in fp32";
  std::vector<Finding> findings = findings_of_gates(records);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rule, "judged_before");
  EXPECT_EQ(findings[0].text, *records[0].outcome.reason);
  EXPECT_EQ(records[0].grade.trust, Trust::d);
  records[0].outcome.reason.reset();
  findings = findings_of_gates(records);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_TRUE(says(findings[0].text, "no reason is kept"));
  EXPECT_EQ(records[0].outcome.status, Status::impossible);
}

TEST(Gate, PeaksOfABusyMachineBoundNothing) {
  const Record record = judged([](Record& r) {
    r.evidence.instruction_ms = r.evidence.matmul_ms = 2 * 150;
    r.evidence.weight_bytes_read = 0.15 * 2e10 * 2;
    r.evidence.peaks_measured_share = 0.4;
  });
  EXPECT_EQ(record.outcome.status, Status::ok);
  EXPECT_EQ(record.grade.trust, Trust::b);
  EXPECT_TRUE(says(record.grade.trust_reasons.front(), "it got 40.0 % of its time"));
}

TEST(Gate, NothingIsComparedWithAnImpossibleBaseline) {
  std::vector<Record> records = made_up_cell();
  records[0].latency.made().raw_ms[3] = 0;
  judge_and_keep(records);
  EXPECT_EQ(records[0].outcome.status, Status::impossible);
  for (std::size_t i = 1; i < records.size(); ++i) {
    EXPECT_EQ(records[i].outcome.status, Status::ok);
    EXPECT_EQ(records[i].grade.trust, Trust::b);
    EXPECT_FALSE(records[i].speedup->speedup || records[i].difference->kl_mean ||
                 records[i].difference->delta_log_perplexity || records[i].difference->mcnemar_p);
    EXPECT_TRUE(says(records[i].grade.trust_reasons.front(), "fp32 is impossible (a sample lasts 0 ms)"));
  }
}

TEST(Gate, TheUpperEndOfSeveralReadingsOfTheBandwidthBounds) {
  const auto update_at = [](double bytes_per_s, std::optional<double> high) {
    return judged([&](Record& r) {
             r.training.made().optimizer_ms = 1;
             r.evidence.optimizer_bytes_read = *r.evidence.cache_bytes + 1e-3 * bytes_per_s;
             r.evidence.bandwidth_bytes_per_s = 47.5e9;
             r.evidence.bandwidth_high_bytes_per_s = high;
           })
        .outcome.status;
  };
  EXPECT_EQ(update_at(55.2e9, std::nullopt), Status::impossible) << "one reading, as older files have it";
  EXPECT_EQ(update_at(55.2e9, 74.1e9), Status::ok);
  EXPECT_EQ(update_at(80e9, 74.1e9), Status::impossible);
}

TEST(Gate, ASmallModelMayBeServedByTheCaches) {
  EXPECT_EQ(judged([](Record& r) {
              r.latency.made().median_ms = 0.1;
              r.evidence.instruction_ms = r.evidence.matmul_ms = 0.08;
              r.evidence.weight_bytes_read = 3e7;
            }).outcome.status,
            Status::ok);
}

TEST(Gate, ASixteenBitModelIsNotLargerThanFp32) {
  std::vector<Record> records = made_up_cell();
  records[2].memory.made().model_bytes = *records[0].memory->model_bytes + 1;
  judge_and_keep(records);
  EXPECT_EQ(records[2].outcome.status, Status::impossible);
  EXPECT_TRUE(says(*records[2].outcome.reason, "a 16-bit model"));
  EXPECT_EQ(records[1].outcome.status, Status::ok);
}

TEST(Trust, EachFactCapsTheGrade) {
  const struct {
    Change change;
    Trust grade;
    const char* reason;
  } cases[] = {
      {[](Record& r) { r.evidence.matmul_ms = 1.11 * 150; }, Trust::c, "suspect"},
      {[](Record& r) { r.evidence.peaks_measured_share = 0.4; }, Trust::b, "no gate by them"},
      {[](Record& r) { r.latency.made().ci_low_ms.reset(); }, Trust::d, "no 95 % interval"},
      {[](Record& r) { r.latency.made().ci_high_ms = 1.2 * *r.latency->median_ms; }, Trust::c, "20.5 % wide"},
      {[](Record& r) { r.latency.made().ci_high_ms = 3.1 * *r.latency->median_ms; }, Trust::d, "all that is known"},
      {[](Record& r) { r.latency.made().asked_width = 0.005; }, Trust::b, "where 0.500 % was asked"},
      {[](Record& r) { r.circumstances.made().foreign_load = 0.06; }, Trust::b, "others used 6.00 %"},
      {[](Record& r) { r.circumstances.made().foreign_load = 0.3; }, Trust::c, "others used 30.0 %"},
      {[](Record& r) { r.circumstances.made().foreign_load = 0.6; }, Trust::d, "others used 60.0 %"},
      {[](Record& r) { r.program_run.made().daemons_left = 3; }, Trust::c, "3 processes that its runs left"},
      {[](Record& r) { r.circumstances.made().foreign_load.reset(); }, Trust::b,
       "what others used of the processors is not known"},
      {[](Record& r) { r.circumstances.made().stolen_share.reset(); }, Trust::b, "withheld is not known"},
      {[](Record& r) { r.circumstances.made().stolen_share = 0.02; }, Trust::b, "withheld 2.00 %"},
      {[](Record& r) { r.circumstances.made().stolen_share = 0.06; }, Trust::c, "withheld 6.00 %"},
      {[](Record& r) { r.circumstances.made().frequency_after_mhz = 2400; }, Trust::b, "from 2600 to 2400 MHz"},
      {[](Record& r) { r.circumstances.made().throttle = "power cap"; }, Trust::b,
       "held down while it was timed: power cap"},
      {[](Record& r) { r.latency.made().steady = false; }, Trust::b, "not become steady"},
      {[](Record& r) { r.seal.state = Seal::State::broken; }, Trust::d, "changed after it was written"},
      {[](Record& r) { r.latency.made().p90_ms = 1.4 * *r.latency->median_ms; }, Trust::b, "middle 80 %"},
      {[](Record& r) {
         r.latency.made().process_samples = {30, 4, 2, 2, 2};
         std::vector<double>& raw = r.latency.made().raw_ms;
         std::for_each(raw.begin() + 15, raw.end(), [](double& ms) { ms *= 1.1; });
       },
       Trust::b, "slower than the first"},
      {[](Record& r) { r.latency.made().process_samples.clear(); }, Trust::b, "timed in one process"},
      {[](Record& r) { r.circumstances.made().major_page_faults = 2; }, Trust::c, "2 pages were read from a disk"},
      {[](Record& r) {
         r.speedup.made().speedup = 2;
         r.speedup.made().speedup_low = 1.7;
         r.speedup.made().speedup_high = 2.3;
       },
       Trust::b, "between 1.70x and 2.30x"},
      {[](Record& r) { r.evidence.ledger[1].verdict = Verdict::emulated; }, Trust::c, "1 of 3 operations"},
      {[](Record& r) { r.energy.made().energy_conflict = "a read 3 J, but b read 2 J: more than the whole"; }, Trust::c,
       "the meters contradict each other: a read 3 J"},
      {[](Record& r) { r.latency.made().stopped_by = StoppedBy::interrupted; }, Trust::c, "interrupted"},
      {[](Record& r) { r.quality.made().quality_status = interrupted_after({3, 9}); }, Trust::c,
       "a part of the data: scoring was interrupted after 3 of 9 tokens"},
      {[](Record& r) {
         r.setting.warmup_steps = 1;
         r.latency.made().raw_ms.front() = 1.9 * *r.latency->median_ms;
       },
       Trust::b, "the first step after a warm-up of 1 took 1.90x the median"},
  };
  std::size_t rules_of_trust = 0;
  for (const Rule& rule : rules()) rules_of_trust += rule.kind == RuleKind::trust ? 1 : 0;
  EXPECT_EQ(std::size(cases) + 1, rules_of_trust) << "all but baseline_impossible, which takes two rows";
  for (const auto& one : cases) {
    const Record record = judged(one.change);
    EXPECT_EQ(record.grade.trust, one.grade) << one.reason;
    EXPECT_EQ(record.outcome.status, Status::ok);
    const bool is_said = std::any_of(record.grade.trust_reasons.begin(), record.grade.trust_reasons.end(),
                                     [&](const std::string& reason) { return bool(says(reason, one.reason)); });
    EXPECT_TRUE(is_said) << one.reason << " is not in " << record.grade.trust_reasons.front();
  }
}

TEST(Trust, AWarmUpThatWasTooShortIsSaidOnceAndSeenInBothForms) {
  std::vector<Record> untimed = {made_up_record("fp32", 150)};
  untimed[0].latency.made().process_samples = {36, 1, 1, 1, 1};
  for (std::size_t i = 0; i < 4; ++i) untimed[0].latency.made().raw_ms[i] *= 2;
  EXPECT_NE(sentence(untimed, "warm_up_short", "fp32"), "");
  EXPECT_EQ(judged([&](Record& r) { r = untimed[0]; }).grade.trust, Trust::b);
  untimed[0].setting.warmup_steps = 3;
  EXPECT_EQ(sentence(untimed, "warm_up_short", "fp32"), "") << "the grade says it";
  const Record asked = judged([&](Record& r) { r = untimed[0]; });
  EXPECT_TRUE(says(asked.grade.trust_reasons.front(), "the first step after a warm-up of 3 took 2.00x the median"));
}

TEST(Trust, IsNotGivenToARowWithoutSamples) {
  std::vector<Record> records = {made_up_left_out("fp16", Status::emulated, "no instruction")};
  judge_and_keep(records);
  EXPECT_FALSE(records[0].grade.trust.has_value());
  EXPECT_EQ(records[0].outcome.status, Status::emulated);
}

}  // namespace
}  // namespace assay
