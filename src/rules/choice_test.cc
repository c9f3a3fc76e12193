#include "rules/choice.h"

#include <gtest/gtest.h>

#include <variant>

#include "rules/judged_test.h"

namespace assay {
namespace {

const std::vector<std::string> asked_names = {"fp32", "int8", "recipe:mix"};

std::vector<Record> three_rows() {
  return {compared(made_up_record("fp32", 150), 1, 0, 0), compared(made_up_record("int8", 30), 5, 0, 0),
          compared(made_up_record("recipe:mix", 40), 3.75, 0, 0)};
}

std::vector<ChoiceRow> rows_for(const ChoiceQuestion& question, const std::vector<Record>& records) {
  return choice_of(question, asked_names, {records, {}});
}

TEST(Choice, HasARowForEachNameInTheirOrder) {
  const std::vector<ChoiceRow> rows = rows_for({}, three_rows());
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].standing, AimStanding::worse);
  EXPECT_EQ(rows[1].standing, AimStanding::taken);
  EXPECT_EQ(rows[1].words, "30.0 ms");
  EXPECT_EQ(rows[1].number(), 30);
  EXPECT_EQ(rows[1].against_best, "");
  EXPECT_TRUE(says(rows[2].against_best, "1.33x")) << "of what the best takes";
}

TEST(Choice, SaysTheFigureOfWhatMayNotBeChosen) {
  std::vector<Record> records = three_rows();
  records[1].grade = {Trust::d, {"D at best: others used 60 %"}};
  const std::vector<ChoiceRow> rows = rows_for({}, records);
  EXPECT_EQ(rows[1].standing, AimStanding::lacking);
  EXPECT_EQ(rows[1].reason, "grade D at best: others used 60 %");
  EXPECT_EQ(rows[1].number(), 30);
  EXPECT_EQ(rows[2].standing, AimStanding::taken);
}

TEST(Choice, OfCountsIsNotTouchedByAGradeThatRestsOnTimes) {
  std::vector<Record> records = three_rows();
  records[1].memory.made().model_bytes = 1000;
  records[1].grade = {Trust::d, {"D at best: others used 60 %"}};
  EXPECT_EQ(rows_for({"size", Mode::inference}, records)[1].standing, AimStanding::taken);
  records[1].outcome = {Status::impossible, "faster than its peak"};
  EXPECT_EQ(rows_for({"size", Mode::inference}, records)[1].standing, AimStanding::lacking);
}

TEST(Choice, IsBetweenRecordsOfTheAskedModeAlone) {
  std::vector<Record> records = three_rows();
  for (Record& record : records) record.setting.mode = Mode::prefill;
  for (const ChoiceRow& row : rows_for({"latency", Mode::decode}, records)) {
    EXPECT_EQ(row.standing, AimStanding::lacking);
    EXPECT_EQ(row.reason, "not measured");
    EXPECT_TRUE(std::holds_alternative<Absent>(row.figure));
  }
  for (Record record : three_rows()) {
    record.setting.mode = Mode::decode;
    for (double& ms : record.latency.made().raw_ms) ms /= 10;
    *record.latency.made().median_ms /= 10;
    records.push_back(std::move(record));
  }
  EXPECT_EQ(rows_for({"latency", Mode::decode}, records)[1].number(), 3);
}

}  // namespace
}  // namespace assay
