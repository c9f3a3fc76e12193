#include "experiments/compare.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "base/random.h"
#include "base/testing.h"
#include "results/document.h"
#include "results/made_up_test.h"

namespace assay {
namespace {

/// Times around `mean` with a spread of 1 %.
std::vector<double> times(std::size_t count, double mean, std::uint64_t seed) {
  Random random(seed);
  std::vector<double> values(count);
  for (double& value : values) value = mean * (1 + 0.01 * random.next_normal());
  return values;
}

Comparison decided(std::vector<double> a, std::vector<double> b, const CompareOptions& options = {}) {
  std::vector<Comparison> cells(1);
  cells[0].a_ms = std::move(a);
  cells[0].b_ms = std::move(b);
  decide(cells, Drawn::apart, options);
  return cells[0];
}

TEST(Compare, TellsFasterSlowerAndSame) {
  EXPECT_EQ(decided(times(40, 10, 1), times(40, 11, 2)).relation, Relation::slower);
  EXPECT_EQ(decided(times(40, 10, 1), times(40, 9, 2)).relation, Relation::faster);
  EXPECT_EQ(decided(times(40, 10, 1), times(40, 10.05, 2)).relation, Relation::same);
}

TEST(Compare, SaysHowManyMoreSamplesWouldTell) {
  Random random(3);
  const auto noisy = [&](std::size_t count, double mean) {
    std::vector<double> values(count);
    for (double& value : values) value = mean * (1 + 0.1 * random.next_normal());
    return values;
  };
  const Comparison few = decided(noisy(8, 10), noisy(8, 10.5));
  ASSERT_EQ(few.relation, Relation::cannot_tell);
  ASSERT_TRUE(few.more);
  const auto enough = static_cast<std::size_t>(*few.more) * 4 + 400;
  EXPECT_NE(decided(noisy(enough, 10), noisy(enough, 10.5)).relation, Relation::cannot_tell);
  const Comparison least = decided({10}, {11});
  EXPECT_EQ(least.relation, Relation::cannot_tell);
  EXPECT_EQ(least.more, 5);
}

TEST(Compare, FailsOnlyBeyondDoubtAndBeyondWhatIsAllowed) {
  CompareOptions options;
  options.allowed = 0.03;
  EXPECT_TRUE(decided(times(40, 10, 1), times(40, 11, 2), options).fails);
  EXPECT_FALSE(decided(times(40, 10, 1), times(40, 10.2, 2), options).fails);
  EXPECT_FALSE(decided(times(40, 10, 1), times(40, 9, 2), options).fails);
  EXPECT_FALSE(decided(times(3, 10, 1), times(3, 11, 2), options).fails) << "too few to be sure";
  EXPECT_FALSE(decided(times(40, 10, 1), times(40, 11, 2)).fails) << "nothing was asked";
}

TEST(Compare, ManyCellsAreJudgedTogether) {
  std::vector<Comparison> cells;
  for (std::uint64_t i = 0; i < 400; ++i) {
    cells.push_back({});
    cells.back().a_ms = times(12, 10, 2 * i + 10);
    cells.back().b_ms = times(12, 10, 2 * i + 11);
  }
  CompareOptions options;
  options.margin = 0;  // Nothing counts as the same.
  decide(cells, Drawn::apart, options);
  const auto found = std::count_if(cells.begin(), cells.end(), [](const Comparison& cell) {
    return cell.relation == Relation::slower || cell.relation == Relation::faster;
  });
  const auto alone =
      std::count_if(cells.begin(), cells.end(), [](const Comparison& cell) { return cell.test.p < 0.05; });
  EXPECT_GT(alone, 5) << "one by one, some differ by chance";
  EXPECT_LE(found, 2);
}

TEST(Compare, MatchesCellsByWhatTheyMeasure) {
  Side a{"old", made_up_cell()};
  Side b{"new", made_up_cell()};
  std::reverse(b.records.begin(), b.records.end());
  for (Record& record : b.records) record.build = "assay 9";
  b.records.erase(b.records.begin());  // int8
  const ComparisonReport report = compare_sides(a, b, {});
  EXPECT_EQ(report.cells.size(), 3U);
  for (const Comparison& cell : report.cells) EXPECT_EQ(cell.relation, Relation::same) << cell.reason;
  EXPECT_EQ(report.notes[0], "A and B differ in: build  and assay 9");
  EXPECT_EQ(report.notes[1], "only in A: smollm2-135m, int8, cpu, 1 x 128");
  b.records = {made_up_record("fp16", 3)};
  b.records[0].seq = 64;
  EXPECT_EQ(user_error_of([&] { compare_sides(a, b, {}); }),
            "old and new: have no cell in common; the first ones differ in precision fp32 and fp16; seq 128 and 64");
}

TEST(Compare, WhatHasNoSoundTimeCannotBeTold) {
  Side a{"old", {made_up_record("bf16", 40)}};
  Side b = a;
  b.records[0].trust = "D";
  EXPECT_EQ(compare_sides(a, b, {}).cells[0].reason, "B is of grade D");
  b.records[0].status = Status::oom;
  b.records[0].reason = "too big";
  EXPECT_EQ(compare_sides(a, b, {}).cells[0].reason, "B is oom: too big");
}

TEST(Compare, CommandsRunByTurns) {
  const TemporaryFolder folder;
  const std::string log = "'" + (folder.path() / "log").string() + "'";
  const ComparisonReport report = compare_commands({"echo a >>" + log, "echo b >>" + log, 4}, {});
  EXPECT_EQ(report.cells[0].a_ms.size(), 4U);
  EXPECT_EQ(read_file(folder.path() / "log"), "a\nb\na\nb\nb\na\na\nb\nb\na\n");
  EXPECT_EQ(user_error_of([] { compare_commands({"true", "echo broken; exit 3", 2}, {}); }),
            "echo broken; exit 3: exit code 3: broken");
}

TEST(Compare, ReportsInWordsAndInJson) {
  const CompareOptions options;
  const ComparisonReport report = compare_sides({"old", made_up_cell()}, {"new", made_up_cell()}, options);
  EXPECT_NE(comparison_text(report, options).find("smollm2-135m, bf16, cpu, 1 x 128: same\n"), std::string::npos);
  const OrderedJson json = comparison_json(report, options);
  EXPECT_EQ(json.at("cells").size(), 4U);
  EXPECT_EQ(json.at("cells")[0].at("ratio"), 1.0);
  EXPECT_FALSE(json.at("fails").get<bool>());
}

}  // namespace
}  // namespace assay
