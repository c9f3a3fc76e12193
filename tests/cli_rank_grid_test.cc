// Grids whose parts the ranks of an MPI program measure.

#include <set>

#include "cli_ranks.h"
#include "results/store.h"

namespace assay {
namespace {

class RankGrid : public CliMpi {
 protected:
  /// Two cells of three rows.
  static Arguments grid(const Arguments& more) {
    Arguments arguments = {"bench",      "model",     "--precision", "fp32,bf16,int8-weights",
                           "--emulated", "--seq",     "8,16",        "--rounds",
                           "2",          "--quality", "none",        "--threads",
                           "1"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  std::vector<StoredRecord> held(const std::string& store) const {
    return Store(folder_.path() / store, Access::read).find({});
  }
  /// Whether so many records are there; the file may not be, or not be a store yet.
  bool holds(const std::string& store, std::size_t records) const {
    try {
      return fs::exists(folder_.path() / store) && held(store).size() >= records;
    } catch (const Error&) {
      return false;
    }
  }
  static constexpr const char* header = "\nprecision ";  ///< The last line of a table's header begins so.
  static int count(const std::string& text, const std::string& part) {
    int found = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
    return found;
  }
};

TEST_F(RankGrid, RankZeroTellsWhatAllHaveMeasured) {
  const Outcome outcome = run_ranks(2, grid({"--shard", "auto", "--store", "grid.db", "--json", "-"}));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json json = parse_json(outcome.out, "stdout");
  std::set<std::pair<std::string, std::int64_t>> rows;
  std::set<std::string> shards;
  for (const Json& record : json.at("records")) {
    rows.emplace(record.at("precision").get<std::string>(), record.at("seq").get<std::int64_t>());
    shards.insert(record.at("shard").get<std::string>());
  }
  EXPECT_EQ(json.at("records").size(), 6U);
  EXPECT_EQ(rows.size(), 6U);
  EXPECT_EQ(shards, (std::set<std::string>{"1/2", "2/2"}));
  EXPECT_EQ(held("grid.db").size(), 6U);
  EXPECT_NE(outcome.err.find("2 ranks share a machine: they measure one after another"), std::string::npos)
      << outcome.err;
  const Outcome table = run_ranks(3, grid({"--shard", "auto", "--store", "none"}));
  ASSERT_EQ(table.exit_code, 0) << table.err;
  const Outcome alone = run(grid({"--store", "none"}));
  EXPECT_EQ(count("\n" + table.out, header), count("\n" + alone.out, header)) << table.out;
  EXPECT_GT(count("\n" + table.out, header), 0) << table.out;
}

TEST_F(RankGrid, DocumentsThatTellMoreStandSideBySide) {
  const Outcome outcome = run_ranks(2, {"memory", "model", "--precision", "fp32,bf16,fp16", "--seq", "8", "--shard",
                                        "auto", "--json", "memory.json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  std::size_t cells = 0;
  const Json json = parse_json(file("memory.json"), "memory.json");
  for (const Json& document : json.at("documents")) cells += document.at("cells").size();
  EXPECT_EQ(cells, 3U);
  EXPECT_EQ(count(outcome.out, "shard 1/2"), 1) << outcome.out;
  EXPECT_EQ(count(outcome.out, "shard 2/2"), 1) << outcome.out;
}

TEST_F(RankGrid, OtherCommandsGatherToo) {
  const Outcome steps =
      run_ranks(2, {"train", "--benchmark", "bytes", "--batch", "1,2", "--seq", "8", "--warmup", "0", "--steps", "2",
                    "--shard", "auto", "--store", "train.db", "--json", "steps.json"});
  ASSERT_EQ(steps.exit_code, 0) << steps.err;
  EXPECT_EQ(parse_json(file("steps.json"), "steps.json").at("records").size(), 2U);
  EXPECT_EQ(held("train.db").size(), 2U);
  write_text(folder_.path() / "s.toml",
             "title = \"Two cells\"\n[defaults]\nrounds = 1\nquality = \"none\"\nseq = 8\nprecision = \"fp32\"\n"
             "[[cells]]\nname = \"one\"\nkind = \"bench\"\nmodel = \"model\"\n"
             "[[cells]]\nname = \"two\"\nkind = \"bench\"\nmodel = \"model\"\nbatch = 2\n");
  const Outcome study = run_ranks(2, {"study", "s.toml", "--shard", "auto", "--store", "study.db", "--csv", "s.csv"});
  ASSERT_EQ(study.exit_code, 0) << study.err;
  EXPECT_EQ(held("study.db").size(), 2U);
  EXPECT_EQ(count(study.out, "Two cells"), 1) << study.out;
}

/// What one rank finds, with the commands that measure what it did not.
TEST_F(RankGrid, ARankThatFailsIsNamedAndItsShardMissing) {
  fs::create_directory(folder_.path() / "elsewhere");
  const Arguments program = grid({"--shard", "auto", "--store", (folder_.path() / "grid.db").string(), "--json",
                                  (folder_.path() / "grid.json").string()});
  Arguments both = launched(1, program);
  both.push_back(":");
  const Arguments other = launched(1, program);
  both.insert(both.end(), {"-wdir", (folder_.path() / "elsewhere").string()});
  both.insert(both.end(), other.begin() + 1, other.end());
  const Outcome outcome = run_program(mpirun, folder_.path(), both);
  EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
  EXPECT_EQ(count(outcome.err, "assay: rank 1: "), 1) << outcome.err;
  EXPECT_NE(outcome.err.find("missing: shard 2/2 (there is no record of it): assay bench model"), std::string::npos)
      << outcome.err;
  EXPECT_EQ(held("grid.db").size(), 3U);
  EXPECT_EQ(parse_json(file("grid.json"), "grid.json").at("records").size(), 3U);
}

TEST_F(RankGrid, ErrorsOfAllAreOneLine) {
  const Outcome outcome = run_ranks(2, {"bench", "absent", "--shard", "auto", "--store", "grid.db"});
  EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
  EXPECT_EQ(count(outcome.err, "assay: "), 1) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  const Outcome differ =
      run_program(mpirun, folder_.path(), beside(grid({"--shard", "auto", "--batch", "2"}), grid({"--shard", "auto"})));
  EXPECT_EQ(differ.exit_code, 2) << differ.err;
  EXPECT_EQ(count(differ.err, "assay: rank 1: was asked for another grid than rank 0"), 1) << differ.err;
}

TEST_F(RankGrid, ARankThatDiesLeavesWhatOthersHaveMeasured) {
  Arguments program = grid({"--seconds", "1", "--shard", "auto", "--store", "grid.db", "--json", "grid.json"});
  std::replace(program.begin(), program.end(), std::string("--rounds"), std::string("--least-rounds"));
  std::thread killer([&] {
    for (int i = 0; i < 600 && !holds("grid.db", 3); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(100));
    once_there("grid.db", 1, [](pid_t process) { ::kill(process, SIGKILL); });
  });
  const Outcome outcome = run_ranks(2, program);
  killer.join();
  EXPECT_NE(outcome.exit_code, 0);
  EXPECT_EQ(count(outcome.err, "assay: rank 1 (process "), 1) << outcome.err;
  EXPECT_NE(outcome.err.find("grid.db keeps what was measured"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("missing: shard 2/2 (there is no record of it): assay bench model"), std::string::npos)
      << outcome.err;
  EXPECT_GE(held("grid.db").size(), 3U);
  EXPECT_EQ(parse_json(file("grid.json"), "grid.json").at("records").size(), 3U);
}

}  // namespace
}  // namespace assay
