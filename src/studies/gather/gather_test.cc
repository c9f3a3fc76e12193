#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/error.h"
#include "processes/gather.h"
#include "processes/thread_ranks.h"
#include "studies/gather/request.h"

namespace assay {
namespace {

Record gathered_record(const std::string& precision, const std::string& shard) {
  Record record;
  record.setting.model = "m";
  record.setting.precision = precision;
  record.setting.batch = 1;
  record.setting.seq = 8;
  GridShare& share = record.share.made();
  share.grid = "assay bench m";
  share.shard = shard;
  return record;
}

GridPart gathered_part(const std::string& precision, const std::string& shard, const std::string& host = "one") {
  GridPart part{.shard = shard, .host = host};
  Document& document = part.document.emplace();
  document.machine["host"] = host;
  document.records = {gathered_record(precision, shard)};
  return part;
}

std::vector<std::string> precisions_in(const Document& document) {
  std::vector<std::string> names;
  for (const Record& record : document.records) names.push_back(record.setting.precision);
  return names;
}

TEST(Gather, RanksOfOneSystemTakeTurnsInTheirOrder) {
  const std::vector<RankPlace> places = {{"a", "x"}, {"b", "y"}, {"a", "x"}, {"b", "y"}, {"c", "z"}, {"a", "x"}};
  EXPECT_EQ(measuring_turns(places), (std::vector<int>{0, 0, 1, 1, 0, 2}));
}

/// However long one takes, no two of a system measure at once, and rank 0 has what all found.
TEST(Gather, NoTwoOfASystemMeasureAtOnce) {
  constexpr int ranks = 4;
  const std::vector<RankPlace> places(ranks, {"one", "host"});
  std::atomic<int> measuring = 0;
  std::atomic<int> most = 0;
  run_as_ranks(ranks, [&](Group& group) {
    std::vector<GridPart> parts;
    const auto measure = [&] {
      const int now = ++measuring;
      if (now > most) most = now;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      --measuring;
      return gathered_part("p" + std::to_string(group.rank()), std::to_string(group.rank() + 1) + "/4");
    };
    measure_in_turns(group, places, measure, parts);
    if (group.rank() > 0) return;
    const std::vector<PlacedDocument> documents = documents_of(parts, [](Document all) { return all; });
    ASSERT_EQ(documents.size(), 1U);
    EXPECT_EQ(precisions_in(documents[0].document), (std::vector<std::string>{"p0", "p1", "p2", "p3"}));
  });
  EXPECT_EQ(most, 1);
}

TEST(Gather, AnErrorOfOneRankIsNamedAndItsShardMissing) {
  const std::vector<RankPlace> places = {{"a", "x"}, {"a", "x"}, {"b", "y"}};
  run_as_ranks(3, [&](Group& group) {
    std::vector<GridPart> parts;
    const auto measure = [&] {
      if (group.rank() == 1) fail_user("model.safetensors: is gone");
      return gathered_part("fp32", std::to_string(group.rank() + 1) + "/3");
    };
    measure_in_turns(group, places, measure, parts);
    if (group.rank() > 0) return;
    EXPECT_EQ(failures_of(parts), (std::vector<std::string>{"rank 1: model.safetensors: is gone"}));
    EXPECT_EQ(parts[1].code, static_cast<int>(ExitCode::user));
    const std::vector<MissingPart> missing = missing_parts(parts, {.part = Shard{1, 3}, .grid = "assay bench m"});
    ASSERT_EQ(missing.size(), 1U);
    EXPECT_EQ(missing[0].command, "assay bench m --shard 2/3");
  });
}

TEST(Gather, PartsOfGridsWithoutRecordsAreMissingByTheirRanks) {
  std::vector<GridPart> parts(2);
  parts[0].document.emplace().tables.emplace_back();
  parts[1].failure = "no memory";
  const std::vector<MissingPart> missing = missing_parts(parts, {.part = Shard{1, 2}, .grid = "assay memory m"});
  ASSERT_EQ(missing.size(), 1U);
  EXPECT_EQ(missing[0].command, "assay memory m --shard 2/2");
}

TEST(Gather, WhatWasInterruptedIsMissing) {
  std::vector<GridPart> parts = {gathered_part("fp32", "1/2"), gathered_part("bf16", "2/2")};
  EXPECT_TRUE(missing_parts(parts, {}).empty());
  parts[1].code = static_cast<int>(ExitCode::interrupted);
  const std::vector<MissingPart> missing = missing_parts(parts, {});
  ASSERT_EQ(missing.size(), 1U);
  EXPECT_EQ(missing[0].part, "shard 2/2");
}

TEST(Gather, MachinesStayApartAndSoDoDocumentsThatTellMoreThanRecords) {
  const std::vector<GridPart> parts = {gathered_part("fp32", "1/3"), gathered_part("bf16", "2/3", "two"),
                                       gathered_part("int8", "3/3")};
  const std::vector<PlacedDocument> machines = documents_of(parts, [](Document all) { return all; });
  ASSERT_EQ(machines.size(), 2U);
  EXPECT_EQ(machines[0].label, "one");
  EXPECT_EQ(precisions_in(machines[0].document), (std::vector<std::string>{"fp32", "int8"}));
  EXPECT_EQ(machines[1].label, "two");
  const std::vector<PlacedDocument> apart = documents_of(parts, {});
  ASSERT_EQ(apart.size(), 3U);
  EXPECT_EQ(apart[2].label, "one, shard 3/3");
}

TEST(Gather, AMachinesOnlyDocumentIsWholeAndWhatStudiesFoundStays) {
  std::vector<GridPart> parts = {gathered_part("fp32", "1/3"), gathered_part("bf16", "2/3", "two"),
                                 gathered_part("int8", "3/3")};
  for (GridPart& part : parts) {
    part.document->findings = {{.rule = "of the study", .text = part.shard}};
    part.document->tables.emplace_back();
  }
  const std::vector<PlacedDocument> machines = documents_of(parts, [](Document all) { return all; });
  ASSERT_EQ(machines.size(), 2U);
  EXPECT_EQ(machines[0].document.findings.size(), 2U);
  EXPECT_EQ(machines[0].document.tables.size(), 0U);
  EXPECT_EQ(machines[1].document.findings.size(), 1U);
  EXPECT_EQ(machines[1].document.tables.size(), 1U);
}

TEST(Gather, APartThatEndedWithoutRecordsIsNotMissing) {
  std::vector<GridPart> parts = {gathered_part("fp32", "1/3"), gathered_part("bf16", "2/3"),
                                 gathered_part("int8", "3/3")};
  parts[1].document->records.clear();
  EXPECT_TRUE(missing_parts(parts, {}).empty());
  parts[1].code = static_cast<int>(ExitCode::interrupted);
  const std::vector<MissingPart> missing = missing_parts(parts, {});
  ASSERT_EQ(missing.size(), 1U);
  EXPECT_EQ(missing[0].part, "shard 2/3");
}

TEST(Gather, APartThatCannotBeReadIsItsRanksFailureAlone) {
  const std::vector<RankPlace> places = {{"a", "x"}, {"b", "y"}};
  run_as_ranks(2, [&](Group& group) {
    std::vector<GridPart> parts;
    const auto measure = [&] {
      GridPart part = gathered_part("fp32", std::to_string(group.rank() + 1) + "/2");
      if (group.rank() == 1) part.document->sentences = {{.key = "records", .texts = {"no record"}}};
      return part;
    };
    measure_in_turns(group, places, measure, parts);
    if (group.rank() > 0) return;
    EXPECT_TRUE(parts[0].document && parts[0].failure.empty());
    EXPECT_FALSE(parts[1].document);
    const std::vector<std::string> failures = failures_of(parts);
    ASSERT_EQ(failures.size(), 1U);
    EXPECT_TRUE(failures[0].starts_with("rank 1: y: ")) << failures[0];
  });
}

TEST(Gather, APartComesAsItWasSent) {
  GridPart part = gathered_part("bf16", "1/2");
  part.code = 130;
  part.sentences = {"a \"sentence\"\n"};
  part.kept = "{}";
  part.more = {{"trace", "text"}};
  const GridPart came = grid_part_from(to_text(part), "rank 1");
  EXPECT_EQ(to_text(came), to_text(part));
  EXPECT_EQ(came.document->records.front().setting.precision, "bf16");
  for (const char* text : {"", "[]", "{}", R"({"shard": 1})"}) EXPECT_THROW(grid_part_from(text, "rank 1"), Error);
}

TEST(Gather, RanksThatWereAskedForOtherGridsAreRefusedEverywhere) {
  std::atomic<int> refused = 0;
  run_as_ranks(3, [&](Group& group) {
    try {
      meet_for_grid(group, group.rank() == 2 ? "assay bench gpt2" : "assay bench m");
    } catch (const SharedError& error) {
      refused += std::string(error.what()).starts_with("rank 2: was asked for another grid") ? 1 : 0;
    }
  });
  EXPECT_EQ(refused, 3);
}

TEST(Gather, WhatCameBeforeARankWasLostIsThere) {
  const std::vector<RankPlace> places(3, {"one", "host"});
  std::vector<GridPart> parts;
  const auto body = [&](Group& group) {
    std::vector<GridPart> others;
    const auto measure = [&] {
      if (group.rank() == 2) throw RankLost({2, "has died"});
      return gathered_part("fp32", std::to_string(group.rank() + 1) + "/3");
    };
    measure_in_turns(group, places, measure, group.rank() == 0 ? parts : others);
  };
  EXPECT_THROW(run_as_ranks(3, body), RankLost);
  ASSERT_EQ(parts.size(), 3U);
  EXPECT_TRUE(parts[0].document && parts[1].document);
  EXPECT_FALSE(parts[2].document);
}

/// Stores of other machines, and of containers of this one, of which nothing came.
TEST(Gather, WhereRanksOfWhomNothingCameKeepTheirRecordsIsSaid) {
  const std::vector<RankPlace> places = {{"a", "x"}, {"a", "x"}, {"b", "y"}, {"b", "y"}, {"c", "z"}, {"a", "box"}};
  std::vector<GridPart> parts(6);
  parts[0] = gathered_part("fp32", "1/6", "x");
  parts[4].failure = "no model";
  EXPECT_EQ(store_of_rank(places, 1, "grid.db"), "grid.db");
  EXPECT_EQ(store_of_rank(places, 4, "grid.db"), "grid.db.z");
  EXPECT_EQ(
      kept_elsewhere(places, parts, "grid.db"),
      (std::vector<std::string>{"what rank 2 has kept is in grid.db.y on y; take it over with: assay import grid.db.y "
                                "--store grid.db",
                                "what rank 5 has kept is in grid.db.box on box; take it over with: assay import "
                                "grid.db.box --store grid.db"}));
  parts[2] = parts[3] = parts[5] = gathered_part("bf16", "3/6", "y");
  EXPECT_TRUE(kept_elsewhere(places, parts, "grid.db").empty());
}

TEST(Gather, WhatRankZeroFoundIsThereThoughARankElsewhereIsLost) {
  const std::vector<RankPlace> places = {{"a", "x"}, {"b", "y"}};
  std::vector<GridPart> parts;
  const auto body = [&](Group& group) {
    std::vector<GridPart> others;
    const auto measure = [&] {
      if (group.rank() == 1) throw RankLost({1, "has died"});
      return gathered_part("fp32", "1/2");
    };
    measure_in_turns(group, places, measure, group.rank() == 0 ? parts : others);
  };
  EXPECT_THROW(run_as_ranks(2, body), RankLost);
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_TRUE(parts[0].document);
  EXPECT_EQ(parts[0].host, "x");
}

}  // namespace
}  // namespace assay
