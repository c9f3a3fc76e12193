#include <algorithm>
#include <set>
#include <tuple>

#include "cli_fixture.h"
#include "results/store.h"

namespace assay {
namespace {

const Arguments fleet_grid = {"bench", "model", "--rounds",  "1",    "--seconds",   "0.05",
                              "--seq", "8,16",  "--quality", "none", "--precision", "fp32,bf16,int8-weights"};

/// A grid in shards, each with a store of its own.
class CliFleet : public Cli {
 protected:
  Outcome shard(const std::string& part, const std::string& store) const {
    Arguments arguments = fleet_grid;
    arguments.insert(arguments.end(), {"--emulated", "--shard", part, "--store", store});
    return run(arguments);
  }
  std::vector<StoredRecord> held(const std::string& store) const {
    return Store(folder_.path() / store, Access::read).find({});
  }
  void measure(int count) const {
    for (int i = 1; i <= count; ++i) {
      const Outcome outcome = shard(fmt::format("{}/{}", i, count), fmt::format("shard{}.db", i));
      ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    }
  }
};

using CellName = std::tuple<std::string, std::int64_t, std::int64_t>;

CellName cell_name(const StoredRecord& stored) {
  const Setting& setting = stored.record.setting;
  return {setting.precision, setting.batch, setting.seq};
}

TEST_F(CliFleet, ShardsTogetherAreTheGridAndNothingTwice) {
  constexpr int count = 4;  // Two cells of fp32 and two others: each shard has one of them, and the baseline.
  measure(count);
  const Outcome merged =
      run({"import", "shard3.db", "shard1.db", "shard4.db", "shard2.db", "shard1.db", "--store", "all.db"});
  ASSERT_EQ(merged.exit_code, 0) << merged.err;
  EXPECT_NE(merged.out.find("no part of a divided grid is missing"), std::string::npos) << merged.out;
  const std::vector<StoredRecord> all = held("all.db");
  std::multiset<CellName> own;
  std::size_t compared_only = 0;
  for (const StoredRecord& stored : all) {
    EXPECT_TRUE(stored.record.share->grid && stored.record.share->shard);
    EXPECT_EQ(stored.record.share->grid->find("--shard"), std::string::npos) << *stored.record.share->grid;
    EXPECT_EQ(stored.record.share->grid->find(".db"), std::string::npos) << *stored.record.share->grid;
    if (stored.record.share->compared_only.value_or(false))
      ++compared_only;
    else
      own.insert(cell_name(stored));
    const bool is_baseline = stored.record.setting.precision == "fp32";
    EXPECT_TRUE(is_baseline || stored.record.speedup->speedup);
  }
  EXPECT_EQ(compared_only, 2U);
  EXPECT_EQ(own.size(), 6U);
  EXPECT_EQ(std::set<CellName>(own.begin(), own.end()).size(), 6U);
  const Outcome again = run({"import", "shard1.db", "shard2.db", "--store", "all.db"});
  EXPECT_NE(again.out.find(" 0 were new"), std::string::npos) << again.out;
  EXPECT_EQ(held("all.db").size(), all.size());
}

TEST_F(CliFleet, WhatIsMissingIsNamedWithItsCommand) {
  ASSERT_EQ(shard("1/2", "shard1.db").exit_code, 0);
  const Outcome merged = run({"import", "shard1.db", "--store", "all.db"});
  const std::string grid = *held("shard1.db").front().record.share->grid;
  EXPECT_NE(merged.out.find("missing: shard 2/2 (there is no record of it): " + grid + " --shard 2/2"),
            std::string::npos)
      << merged.out;
}

TEST_F(CliFleet, MoreShardsThanPartsLeaveSomeEmpty) {
  const Outcome outcome = shard("7/7", "shard7.db");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("divides into 4 shards at most"), std::string::npos) << outcome.out;
  EXPECT_FALSE(fs::exists(folder_.path() / "shard7.db"));
}

/// Whoever reads the parts of a grid finds the same schema in an empty one.
TEST_F(CliFleet, AnEmptyPartHasTheSchemaOfTheOthers) {
  const auto schema = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--shard", "9/9", "--json", "part.json"});
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return parse_json(read_file(folder_.path() / "part.json"), "part.json").at("schema").get<std::string>();
  };
  EXPECT_EQ(schema({"sensitivity", "model", "--mode", "train", "--precision", "fp32"}), "assay-sensitivity-train-1");
  EXPECT_EQ(schema({"sensitivity", "model", "--precision", "int8"}), "assay-sensitivity-1");
  EXPECT_EQ(schema({"profile", "model", "--seq", "8", "--trace", "trace.json", "--flame", "flame.svg"}),
            "assay-profile-1");
  for (const char* none : {"trace.json", "flame.svg"}) EXPECT_FALSE(fs::exists(folder_.path() / none)) << none;
}

TEST_F(CliFleet, OneBadStoreKeepsNoneOfTheOthersBack) {
  measure(1);
  write_text(folder_.path() / "bad.db", "no database");
  fs::create_directory(folder_.path() / "folder.db");
  const Outcome merged = run({"import", "bad.db", "shard1.db", "folder.db", "absent.db", "--store", "all.db"});
  EXPECT_EQ(merged.exit_code, 2);
  EXPECT_EQ(std::count(merged.err.begin(), merged.err.end(), '\n'), 3) << merged.err;
  for (const char* part : {"bad.db: ", "folder.db: ", "absent.db: ", "folder"})
    EXPECT_NE(merged.err.find(part), std::string::npos) << merged.err;
  EXPECT_EQ(held("all.db").size(), 6U);
  expect_failure({"import", "bad.db", "--store", "new.db"}, 2, "bad.db");
}

TEST_F(CliFleet, ShardsThatAreNoneAreRefused) {
  for (const char* part : {"0/2", "3/2", "2", "half"})
    expect_failure({"bench", "model", "--seq", "8", "--shard", part}, 2, fmt::format("--shard {}: not a part", part));
  expect_failure({"bench", "model", "--seq", "8", "--shard", "1/2", "--explain-perplexity"}, 2, "--shard with");
  EXPECT_EQ(run({"bench", "model", "--shard", "1/2", "--every-machine"}).exit_code, 2);
}

TEST_F(CliFleet, OtherGridsAreDividedToo) {
  const Outcome training = run({"train", "--benchmark", "model", "--batch", "1", "--seq", "8,16", "--warmup", "0",
                                "--steps", "2", "--shard", "2/2", "--store", "train.db"});
  ASSERT_EQ(training.exit_code, 0) << training.err;
  ASSERT_EQ(held("train.db").size(), 1U);
  EXPECT_EQ(held("train.db")[0].record.setting.seq, 16);
  EXPECT_EQ(held("train.db")[0].record.share->shard, "2/2");
  const Outcome attention = run({"attention", "--batch", "1", "--head-dim", "16,32", "--seq", "32", "--repetitions",
                                 "2", "--shard", "1/2", "--store", "attention.db"});
  ASSERT_EQ(attention.exit_code, 0) << attention.err;
  EXPECT_EQ(held("attention.db").size(), 4U) << "naive and fused, forward and backward";
  const auto cells = [&](const char* part) {
    const Outcome memory = run(
        {"memory", "model", "--precision", "fp32,bf16,fp16", "--seq", "8", "--shard", part, "--json", "memory.json"});
    EXPECT_EQ(memory.exit_code, 0) << memory.err;
    return parse_json(read_file(folder_.path() / "memory.json"), "memory.json").at("cells").size();
  };
  EXPECT_EQ(cells("1/2") + cells("2/2"), 3U);
}

TEST_F(CliFleet, AReportOverMachinesIsWrittenInEveryFormat) {
  measure(2);
  const Outcome outcome = run({"fleet", "report", "shard1.db", "shard2.db", "--json=out.json", "--csv", "out.csv",
                               "--markdown", "out.md", "--latex", "out.tex", "--html", "out.html"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const char* file : {"out.json", "out.csv", "out.md", "out.tex", "out.html"})
    EXPECT_GT(fs::file_size(folder_.path() / file), 100U) << file;
  const Json json = parse_json(read_file(folder_.path() / "out.json"), "out.json");
  EXPECT_EQ(json.at("machines").size(), 1U);
  EXPECT_EQ(json.at("record_count"), 6);
  EXPECT_FALSE(json.at("machines").at(0).at("machine").get<std::string>().empty());
  expect_failure({"fleet", "report", "absent.db"}, 2, "absent.db");
  EXPECT_EQ(run({"fleet", "report", "shard1.db", "absent.db"}).exit_code, 2);
}

}  // namespace
}  // namespace assay
