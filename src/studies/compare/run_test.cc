#include "studies/compare/run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/json.h"
#include "base/random.h"
#include "base/testing.h"
#include "results/document.h"
#include "results/identity.h"
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

TEST(Compare, WhatIsAllowedNarrowsWhatCountsAsNone) {
  CompareOptions options;
  options.allowed = 0.01;
  const Comparison cell = decided(times(400, 10, 1), times(400, 10.2, 2), options);
  EXPECT_GT(cell.ratio->interval->low, 1.01);
  EXPECT_LT(cell.ratio->interval->high, 1.03) << "within the usual margin";
  EXPECT_EQ(cell.relation, Relation::slower);
  EXPECT_TRUE(cell.fails);
  options.allowed = 0.05;
  EXPECT_EQ(margin_of(options), 0.03);
  EXPECT_EQ(decided(times(400, 10, 1), times(400, 10.2, 2), options).relation, Relation::same);
}

TEST(Compare, NoiseThatBothHalvesOfARoundShareDoesNotCount) {
  Random random(8);
  std::vector<Comparison> cells(1);
  for (int i = 0; i < 12; ++i) {
    const double mood_ms = 100 * (1 + random.next_uniform());
    cells[0].a_ms.push_back(mood_ms);
    cells[0].b_ms.push_back(1.05 * mood_ms * (1 + 0.005 * random.next_normal()));
  }
  decide(cells, Drawn::by_round, {});
  EXPECT_GT(mann_whitney(cells[0].a_ms, cells[0].b_ms).p, 0.05) << "by this test they are alike";
  EXPECT_LT(cells[0].test.p, 0.001);
  EXPECT_EQ(cells[0].relation, Relation::slower) << cells[0].reason;
}

// Three rounds in which A was held up hard: the medians pass over them, the ranks do not.
Comparison held_up(int times_over) {
  std::vector<Comparison> cells(1);
  for (int i = 0; i < 14 * times_over; ++i) {
    const bool is_held_up = i % 14 >= 11;
    cells[0].a_ms.push_back(is_held_up ? 30 : 10);
    cells[0].b_ms.push_back(is_held_up ? 20 : 11);
  }
  decide(cells, Drawn::by_round, {});
  return cells[0];
}

TEST(Compare, WhatOnlyTheRankTestDoubtsHasAReasonAndACountOfItsOwn) {
  const Comparison cell = held_up(1);
  EXPECT_GT(cell.ratio->interval->low, 1.03);
  EXPECT_EQ(cell.relation, Relation::cannot_tell);
  EXPECT_EQ(cell.reason, "the interval lies clear of 1, but p is not below 0.05");
  ASSERT_TRUE(cell.more);
  EXPECT_GT(*cell.more, 14);
  const int times_over = 1 + static_cast<int>((*cell.more + 13) / 14);
  EXPECT_EQ(held_up(times_over).relation, Relation::slower) << *cell.more;
}

TEST(Compare, SamplesThatAreNoTimesAreAHindrance) {
  const double none = std::numeric_limits<double>::quiet_NaN();
  const double endless = std::numeric_limits<double>::infinity();
  for (const double hostile : {0.0, -1.0, none, endless, 1e300, 1e-300}) {
    std::vector<double> b = times(40, 10, 2);
    b[7] = hostile;
    const Comparison cell = decided(times(40, 10, 1), b);
    EXPECT_EQ(cell.relation, Relation::cannot_tell) << hostile;
    EXPECT_NE(cell.reason.find("a sample of B lasts"), std::string::npos) << cell.reason;
    EXPECT_FALSE(cell.ratio);
  }
  EXPECT_EQ(decided(std::vector<double>(100'001, 1.0), {1.0}).reason,
            "A has 100001 samples, more than the 100000 that are compared");
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
  for (Record& record : b.records) record.setting.build = "assay 9";
  b.records.erase(b.records.begin());  // int8
  const ComparisonReport report = compare_sides(a, b, {});
  EXPECT_EQ(report.cells.size(), 3U);
  for (const Comparison& cell : report.cells) EXPECT_EQ(cell.relation, Relation::same) << cell.reason;
  EXPECT_EQ(report.notes[0], "A and B differ in: build  and assay 9");
  EXPECT_EQ(report.notes[1], "only in A: smollm2-135m, int8, cpu, 1 x 128");
  b.records = {made_up_record("fp16", 3)};
  b.records[0].setting.seq = 64;
  EXPECT_EQ(user_error_of([&] { compare_sides(a, b, {}); }),
            "old and new: have no cell in common; the first ones differ in precision fp32 and fp16; seq 128 and 64");
}

TEST(Compare, ACellThatASideHasTwiceIsNamed) {
  const Side once{"old", {made_up_record("bf16", 40), made_up_record("fp32", 80)}};
  Side twice = once;
  twice.records.push_back(made_up_record("bf16", 20));
  for (const auto& [a, b, reason] : {std::tuple{once, twice, "B has it 2 times; compare one run with one"},
                                     {twice, once, "A has it 2 times; compare one run with one"}}) {
    const ComparisonReport report = compare_sides(a, b, {});
    ASSERT_EQ(report.cells.size(), 2U);
    EXPECT_EQ(report.cells[0].reason, reason);
    EXPECT_FALSE(report.cells[0].ratio);
    EXPECT_EQ(report.cells[1].relation, Relation::same);
  }
}

TEST(Compare, EachCellsPlaceIsCompared) {
  const Side a{"old", made_up_cell()};
  Side b = a;
  b.records[2].setting.build = "assay 9";
  EXPECT_EQ(compare_sides(a, b, {}).notes[0],
            "A and B differ in: build  and assay 9 (of " + subject_words(a.records[2]) + ")");
}

TEST(Compare, WhatHasNoSoundTimeCannotBeTold) {
  Side a{"old", {made_up_record("bf16", 40)}};
  Side b = a;
  b.records[0].grade.trust = Trust::d;
  EXPECT_EQ(compare_sides(a, b, {}).cells[0].reason, "B is of grade D");
  b.records[0].outcome.status = Status::oom;
  b.records[0].outcome.reason = "too big";
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

TEST(Compare, ItsDocumentHasARowACellAndSaysWhetherItFails) {
  const CompareOptions options;
  const ComparisonReport report = compare_sides({"old", made_up_cell()}, {"new", made_up_cell()}, options);
  const OrderedJson json = to_json(to_document(report, options));
  EXPECT_EQ(json.at("a"), "old");
  EXPECT_EQ(json.at("cells").size(), 4U);
  EXPECT_EQ(json.at("cells")[0].at("subject"), "smollm2-135m, fp32, cpu, 1 x 128");
  EXPECT_EQ(json.at("cells")[0].at("verdict"), "same");
  EXPECT_EQ(json.at("cells")[0].at("ratio"), 1.0);
  EXPECT_TRUE(json.at("cells")[0].contains("ratio_low"));
  EXPECT_FALSE(json.at("fails").get<bool>());
}

}  // namespace
}  // namespace assay
