#include "studies/study/evaluate.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

/// A row of a cell: its latency with the ends of its interval.
Record row_of_study(const std::string& precision, double ms, double half_width_ms, Trust grade = Trust::a) {
  Record record;
  record.setting.model = "gpt2";
  record.setting.precision = precision;
  record.latency.made().median_ms = ms;
  record.latency.made().ci_low_ms = ms - half_width_ms;
  record.latency.made().ci_high_ms = ms + half_width_ms;
  record.grade.trust = grade;
  return record;
}

std::vector<StudyPart> parts_of(std::vector<Record> records) {
  std::vector<StudyPart> parts(1);
  parts[0].label = "cell";
  parts[0].document.records = std::move(records);
  return parts;
}

StudyExpectation faster(const std::string& precision, const std::string& than) {
  StudyExpectation expectation;
  expectation.rows = {.cells = {"cell"}, .field = "median_ms", .of = {{"precision", precision}}};
  expectation.than = {{"precision", than}};
  return expectation;
}

StudyOutcome verdict_on_rows(const StudyExpectation& expectation, std::vector<Record> records) {
  return verdict_on(expectation, parts_of(std::move(records))).verdict;
}

/// A part of a study, and cells that two machines have measured.
TEST(StudyAnswers, CellsAreKnownByTheirNames) {
  StudyFile study;
  study.cells.resize(2);
  study.cells[0].name = "one";
  study.cells[0].kind = "bench";
  study.cells[1].name = "two";
  study.cells[1].kind = "memory";
  std::vector<StudyPart> parts(3);
  parts[0].label = parts[1].label = "two";
  parts[1].machine = "node2";
  parts[2].label = "one";
  const Json cells = Json(to_json(answers_document(study, parts)).at("cells"));
  ASSERT_EQ(cells.size(), 3U);
  EXPECT_EQ(cells[0].at("kind"), "memory");
  EXPECT_EQ(cells[1].at("kind"), "memory");
  EXPECT_EQ(cells[1].at("cell"), "two on node2");
  EXPECT_EQ(cells[2].at("kind"), "bench");
}

TEST(StudyVerdicts, AnExpectationHoldsWhereAllOfTheIntervalsDo) {
  const Record fp32 = row_of_study("fp32", 10, 1);
  EXPECT_EQ(verdict_on_rows(faster("bf16", "fp32"), {fp32, row_of_study("bf16", 8, 0.5)}), StudyOutcome::as_expected);
  EXPECT_EQ(verdict_on_rows(faster("bf16", "fp32"), {fp32, row_of_study("bf16", 12, 0.5)}),
            StudyOutcome::not_as_expected);
  EXPECT_EQ(verdict_on_rows(faster("bf16", "fp32"), {fp32, row_of_study("bf16", 9.5, 1)}), StudyOutcome::undecided);
}

TEST(StudyVerdicts, NothingIsConcludedFromRowsOfGradeD) {
  const Record fp32 = row_of_study("fp32", 10, 1);
  EXPECT_EQ(verdict_on_rows(faster("bf16", "fp32"), {fp32, row_of_study("bf16", 8, 0.5, Trust::d)}),
            StudyOutcome::not_tested);
  EXPECT_EQ(
      verdict_on_rows(faster("bf16", "fp32"), {row_of_study("fp32", 10, 1, Trust::d), row_of_study("bf16", 8, 0)}),
      StudyOutcome::not_tested);
}

TEST(StudyVerdicts, ARowIsComparedWithItsLikeAlone) {
  Record other_shape = row_of_study("fp32", 1, 0);
  other_shape.setting.batch = 8;
  const std::vector<Record> rows = {row_of_study("fp32", 10, 1), other_shape, row_of_study("bf16", 8, 0.5)};
  EXPECT_EQ(verdict_on_rows(faster("bf16", "fp32"), rows), StudyOutcome::as_expected);
}

TEST(StudyVerdicts, SeveralShapesMayDiffer) {
  std::vector<Record> rows = {row_of_study("fp32", 10, 1), row_of_study("bf16", 8, 0.5), row_of_study("fp32", 10, 1),
                              row_of_study("bf16", 20, 0.5)};
  rows[2].setting.batch = rows[3].setting.batch = 8;
  const StudyVerdict verdict = verdict_on(faster("bf16", "fp32"), parts_of(rows));
  EXPECT_EQ(verdict.verdict, StudyOutcome::in_part);
  EXPECT_NE(verdict.observed.find("batch 8"), std::string::npos) << verdict.observed;
}

TEST(StudyVerdicts, WithoutRowsTheCellSaysWhy) {
  std::vector<StudyPart> parts = parts_of({});
  parts[0].reason = "no weights are here";
  const StudyVerdict verdict = verdict_on(faster("bf16", "fp32"), parts);
  EXPECT_EQ(verdict.verdict, StudyOutcome::not_tested);
  EXPECT_NE(verdict.observed.find("no weights are here"), std::string::npos);
}

TEST(StudyVerdicts, AMarginIsAShareOfWhatIsComparedWith) {
  StudyExpectation half = faster("bf16", "fp32");
  half.by = 0.5;
  EXPECT_EQ(verdict_on_rows(half, {row_of_study("fp32", 10, 0), row_of_study("bf16", 4, 0)}),
            StudyOutcome::as_expected);
  EXPECT_EQ(verdict_on_rows(half, {row_of_study("fp32", 10, 0), row_of_study("bf16", 6, 0)}),
            StudyOutcome::not_as_expected);
  StudyExpectation within = faster("bf16", "fp32");
  within.claim = StudyExpectation::Claim::within;
  within.by = 0.1;
  EXPECT_EQ(verdict_on_rows(within, {row_of_study("fp32", 10, 0), row_of_study("bf16", 10.5, 0)}),
            StudyOutcome::as_expected);
  EXPECT_EQ(verdict_on_rows(within, {row_of_study("fp32", 10, 0), row_of_study("bf16", 12, 0)}),
            StudyOutcome::not_as_expected);
}

TEST(StudyAnswers, NameTheWinnerAndWhatIsNotToldApartFromIt) {
  StudyQuestion question;
  question.rows = {.cells = {"cell"}, .field = "median_ms"};
  question.best = StudyQuestion::Best::lowest;
  question.among = "precision";
  const std::string answer =
      answer_to(question, parts_of({row_of_study("fp32", 10, 0.1), row_of_study("bf16", 5, 0.5),
                                    row_of_study("int8", 5.2, 0.5), row_of_study("fp16", 1, 0.1, Trust::d)}));
  EXPECT_TRUE(answer.starts_with("bf16 (5")) << answer;
  EXPECT_NE(answer.find("not told apart from int8"), std::string::npos) << answer;
  EXPECT_NE(answer.find("left out: fp16 (grade D)"), std::string::npos) << answer;
}

}  // namespace
}  // namespace assay
