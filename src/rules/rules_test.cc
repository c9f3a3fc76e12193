#include "rules/rules.h"
#include "results/derive.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "results/fields.h"
#include "rules/judged_test.h"
#include "rules/known_models.h"
#include "rules/recorded_runs.h"
#include "rules/rule_tables.h"

namespace assay {
namespace {

TEST(Rules, HaveUniqueNamesAndWords) {
  std::set<std::string> ids;
  for (const Rule& rule : rules()) {
    EXPECT_TRUE(ids.insert(rule.id).second) << rule.id;
    EXPECT_GT(std::string(rule.states).size(), 10u) << rule.id;
    EXPECT_GT(std::string(rule.evidence).size(), 3u) << rule.id;
    const bool has_grade = rule.kind == RuleKind::gate || rule.kind == RuleKind::trust;
    EXPECT_EQ(rule.grade.has_value(), has_grade) << rule.id;
    EXPECT_GT(std::string(rule.remedy).size(), 10u) << rule.id;
    EXPECT_TRUE(rule.judge) << rule.id;
  }
}

TEST(Judge, ComparesWithinACellAndSaysARepeatedSentenceOnce) {
  std::vector<Record> records = made_up_cell();
  for (Record record : made_up_cell()) {
    record.setting.batch = 8;
    record.rates = rates_of(record);
    records.push_back(record);
  }
  const auto findings = judge_and_keep(records);
  const auto sizes = std::count_if(findings.begin(), findings.end(), [](const Finding& f) { return f.rule == "size"; });
  const auto advice =
      std::count_if(findings.begin(), findings.end(), [](const Finding& f) { return f.rule == "advice"; });
  EXPECT_EQ(sizes, 3);
  EXPECT_EQ(advice, 2);
}

TEST(Judge, NamesModelAndFusionWhereTheyDifferAlone) {
  std::vector<Record> alone = made_up_cell();
  const std::string model = alone.front().setting.model;
  for (const Finding& finding : judge_and_keep(alone)) EXPECT_FALSE(finding.text.starts_with(model)) << finding.text;

  std::vector<Record> records = alone;
  for (Record record : alone) {
    record.setting.model = "/models/other";
    records.push_back(record);
    record.setting.fusion = Switch::off;
    records.push_back(record);
  }
  std::set<std::string> beginnings;
  for (const Finding& finding : judge_and_keep(records))
    beginnings.insert(finding.text.substr(0, finding.text.find(": ")));
  EXPECT_EQ(beginnings, (std::set<std::string>{model + ", fusion on", "other, fusion on", "other, fusion off"}));
}

TEST(Judge, FieldsThatAFileLeavesOutAreNeverRead) {
  const std::vector<Record> whole = made_up_cell();
  for (const Field& field : record_fields()) {
    std::vector<Record> records = whole;
    for (Record& record : records) {
      record.difference.made().mcnemar_p = 0.01;
      std::visit(
          [](auto* place) {
            if constexpr (requires { place->reset(); }) place->reset();
          },
          field.place(record));
    }
    judge_and_keep(records);
    records.front().outcome.status = Status::impossible;
    for (const Finding& finding : judge_in_full(records).findings) EXPECT_FALSE(finding.text.empty()) << field.name;
  }
}

TEST(Judge, SaysTheSameHoweverOftenItIsAsked) {
  std::vector<std::vector<Record>> documents = recorded_runs();
  documents.push_back(made_up_cell());
  documents.push_back(made_up_cell());
  documents.back()[0].evidence.instruction_ms = 1000;  // Its baseline is impossible.
  documents.push_back(made_up_cell());
  documents.back()[2].outcome.status = Status::not_finite;
  for (const std::vector<Record>& records : documents) {
    const Rulings first = judge_in_full(records);
    const Rulings again = judge_in_full(with_rulings(records, first.rows));
    ASSERT_EQ(first.findings.size(), again.findings.size());
    for (std::size_t i = 0; i < first.findings.size(); ++i)
      EXPECT_EQ(first.findings[i].text, again.findings[i].text) << first.findings[i].rule;
    for (std::size_t i = 0; i < records.size(); ++i) {
      EXPECT_EQ(first.rows[i].status, again.rows[i].status);
      EXPECT_EQ(first.rows[i].reason, again.rows[i].reason);
      EXPECT_EQ(first.rows[i].grade.trust, again.rows[i].grade.trust);
      EXPECT_EQ(first.rows[i].grade.trust_reasons, again.rows[i].grade.trust_reasons);
    }
  }
}

TEST(Judge, WhatAPrecisionLosesIsNoWrongMask) {
  std::vector<Record> records = made_up_cell();
  for (Record& record : records) {
    record.setting.model = "gpt2";
    record.setting.weights = "sha256:1";
    record.quality.made().protocol = "window 128";
    record.quality.made().perplexity = 60;
  }
  Record& coarse = records.back();
  const KnownModel& gpt2 = *find_known_model("gpt2");
  coarse.quality.made().perplexity = 1.2 * gpt2.perplexity_high;
  coarse.difference.made().delta_log_perplexity = std::log(1.2 * gpt2.perplexity_high / 60);
  const auto is_said = [&] {
    const std::vector<Finding> findings = judge_and_keep(records);
    return std::ranges::any_of(findings, [](const Finding& one) { return one.rule == "perplexity_range"; });
  };
  EXPECT_FALSE(is_said()) << "fp32 reads the text as it should";
  coarse.difference.made().delta_log_perplexity = 0.01;
  EXPECT_TRUE(is_said());
}

TEST(Judge, IsSilentAboutNothing) {
  std::vector<Record> none;
  EXPECT_TRUE(judge_and_keep(none).empty());
}

}  // namespace
}  // namespace assay
