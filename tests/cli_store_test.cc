#include <algorithm>
#include <set>

#include "base/error.h"
#include "cli_fixture.h"
#include "results/fields.h"
#include "results/store.h"

namespace assay {
namespace {

/// The store of the runs, and what it holds.
class CliStore : public Cli {
 protected:
  fs::path file_ = folder_.path() / data_home / "assay" / "results.db";
  std::vector<StoredRecord> kept(const Filter& filter = {}) const { return Store(file_, Access::read).find(filter); }
};

TEST_F(CliStore, WhatWasMeasuredIsKept) {
  ASSERT_EQ(bench({"--emulated", "--precision", "bf16,tf32", "--seq", "8,16", "--json", "out.json"}).exit_code, 0);
  const std::vector<StoredRecord> records = kept();
  const Json written = records_of("out.json");
  ASSERT_EQ(records.size(), written.size());
  for (const StoredRecord& stored : records) {
    const bool same = std::any_of(written.begin(), written.end(), [&](const Json& record) {
      return parse_json(to_json(stored.record).dump(), "stored") == record;
    });
    EXPECT_TRUE(same) << to_json(stored.record).dump();
  }
  const std::optional<StoredRun> run = Store(file_, Access::read).run(1);
  EXPECT_TRUE(run->ended);
  EXPECT_NE(run->command.find(" bench model --rounds 1 "), std::string::npos) << run->command;
  EXPECT_TRUE(parse_json(run->machine, "machine").contains("processor"));
}

TEST_F(CliStore, TrainingStepsAndAttentionAreKeptToo) {
  const Outcome training = run({"train", "--benchmark", "model", "--batch", "1", "--seq", "8", "--warmup", "0,1",
                                "--steps", "2", "--store", "here.db"});
  ASSERT_EQ(training.exit_code, 0) << training.err;
  ASSERT_EQ(
      run({"attention", "--batch", "1", "--head-dim", "16", "--seq", "32", "--repetitions", "2", "--store", "here.db"})
          .exit_code,
      0);
  EXPECT_FALSE(fs::exists(file_));
  const Store store(folder_.path() / "here.db", Access::read);
  const std::vector<StoredRecord> steps = store.find({.run = 1});
  ASSERT_EQ(steps.size(), 2U) << "one for each warm-up";
  EXPECT_EQ(steps[1].record.setting.warmup_steps, 1);
  EXPECT_TRUE(steps[0].record.setting.weights.starts_with("sha256:"));
  EXPECT_EQ(store.find({.run = 2}).size(), 4U) << "naive and fused, forward and backward";
}

TEST_F(CliStore, NoneKeepsNothing) {
  ASSERT_EQ(bench({"--precision", "fp32", "--store", "none"}).exit_code, 0);
  EXPECT_FALSE(fs::exists(folder_.path() / data_home));
}

TEST_F(CliStore, AStoreThatFailsCostsNoResult) {
  write_text(folder_.path() / "text.db", std::string(200, 'x'));
  write_text(folder_.path() / "newer.db", "");
  { Store(folder_.path() / "newer.db", Access::write); }
  Database(folder_.path() / "newer.db", Access::write).run("PRAGMA user_version = 99");
  const std::vector<std::pair<std::string, std::string>> cases = {{"text.db", "is not a database"},
                                                                  {"newer.db", "written by a newer assay"},
                                                                  {"text.db/below.db", "its folder cannot be made"},
                                                                  {"/proc/results.db", "cannot be opened"}};
  for (const auto& [file, part] : cases) {
    const Outcome outcome = bench({"--precision", "fp32", "--store", file, "--json", "out.json"});
    EXPECT_EQ(outcome.exit_code, 4) << file;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find("printed, but not kept"), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.out.find("fp32"), std::string::npos);
    EXPECT_EQ(records_of("out.json").size(), 1U);
    fs::remove(folder_.path() / "out.json");
  }
}

TEST_F(CliStore, AMistakeOfTheUsersMakesNoStore) {
  EXPECT_EQ(bench({"--precision", "fp31"}).exit_code, 2);
  EXPECT_FALSE(fs::exists(folder_.path() / data_home));
}

TEST_F(CliStore, AKilledRunGoesOnWhereItStopped) {
  const Arguments grid = {"bench", "model", "--rounds",  "40",   "--seconds",   "0.05",     "--emulated",
                          "--seq", "8,16",  "--quality", "none", "--precision", "fp32,bf16"};
  const Outcome killed = interrupt_assay(folder_.path(), grid, "1 x 16: ", SIGKILL);
  ASSERT_EQ(killed.signal, SIGKILL) << killed.out;
  const std::vector<StoredRecord> before = kept();
  ASSERT_EQ(before.size(), 2U) << "the first cell had ended";
  Arguments resumed = grid;
  resumed.insert(resumed.end(), {"--resume", "--json", "out.json"});
  const Outcome outcome = run(resumed);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("resumes run 1"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.out.find("fp32*"), std::string::npos) << outcome.out;
  const Json records = records_of("out.json");
  ASSERT_EQ(records.size(), 4U);
  for (const Json& record : records) {
    const bool is_first = record.at("seq") == 8;
    EXPECT_EQ(record.at("restored").is_string(), is_first);
    EXPECT_EQ(record.at("raw_ms").size(), 40U);
  }
  EXPECT_EQ(records.at(0).at("raw_ms"), Json(before[0].record.latency->raw_ms));
  EXPECT_EQ(kept().size(), 4U);
  EXPECT_EQ(Store(file_, Access::read).runs_of(kept()).size(), 1U) << "it is the same run";
}

TEST_F(CliStore, OtherSettingsAreAnotherRun) {
  ASSERT_EQ(bench({"--precision", "fp32"}).exit_code, 0);
  const Outcome outcome = bench({"--precision", "fp32", "--resume", "--width", "0.5"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("there is no run"), std::string::npos) << outcome.err;
  EXPECT_EQ(kept().size(), 2U);
  EXPECT_NE(bench({"--precision", "fp32", "--resume", "--meter", "none"}).err.find("there is no run"),
            std::string::npos)
      << "joules of two meters do not mix";
  expect_failure({"bench", "model", "--resume", "--store", "none"}, 2, "nothing to resume");
}

TEST_F(CliStore, HistoryListsAndFilters) {
  expect_failure({"history"}, 2, "there is no such store");
  ASSERT_EQ(bench({"--emulated", "--precision", "bf16,tf32"}).exit_code, 0);
  const std::string all = run({"history"}).out;
  for (const char* part : {"fp32", "bf16", "tf32", "unsupported: ", "Runs"}) {
    EXPECT_NE(all.find(part), std::string::npos) << part << " in " << all;
  }
  const std::string some = run({"history", "--status", "ok", "--precision", "bf16", "--device", "cpu"}).out;
  EXPECT_EQ(some.find("unsupported"), std::string::npos) << some;
  EXPECT_NE(some.find("bf16"), std::string::npos) << some;
  EXPECT_EQ(parse_json(run({"history", "--json", "--limit", "1"}).out, "stdout").at("records").size(), 1U);
  for (const char* since : {"9999", "9999-12", "9999-12-31", "9999-12-31T23", "9999-12-31T23:59Z"}) {
    EXPECT_NE(run({"history", "--since", since}).out.find("No record is like that."), std::string::npos) << since;
  }
  for (const char* since : {"yesterday", "21.11.2026", "2026-11-31", "2026-13-01", "2026-11-21 18:00", "2026-1-1"}) {
    expect_failure({"history", "--since", since}, 2, fmt::format("--since {}: no day or instant", since));
    expect_failure({"export", "--since", since, "--csv", "x.csv"}, 2, "no day or instant");
  }
  expect_failure({"history", "--status", "fine"}, 2, "--status fine");
}

TEST_F(CliStore, WhatIsExportedCanBeImportedAsOftenAsOneLikes) {
  ASSERT_EQ(bench({"--emulated", "--precision", "bf16,tf32", "--json", "out.json"}).exit_code, 0);
  ASSERT_EQ(run({"export", "--json", "all.json", "--csv", "all.csv"}).exit_code, 0);
  for (const std::string& file : {std::string("all.json"), file_.string(), std::string("out.json")}) {
    const std::string first = run({"import", file, "--store", "other.db"}).out;
    EXPECT_NE(first.find(file == "all.json" || file == "out.json" ? "3 were new" : "0 were new"), std::string::npos)
        << file << ": " << first;
    const std::string again = run({"import", file, "--store", "other.db"}).out;
    EXPECT_NE(again.find("0 were new"), std::string::npos) << file << ": " << again;
  }
  const std::string csv = read_file(folder_.path() / "all.csv");
  EXPECT_TRUE(csv.starts_with("record,run,saved,model,")) << csv.substr(0, 100);
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 4);
  expect_failure({"import", "tokens.json"}, 2, "neither a store nor");
  expect_failure({"import", "absent.db"}, 2, "there is no such file");
  expect_failure({"export"}, 2, "is needed");
}

TEST_F(CliStore, RunsAndFilesAreCompared) {
  ASSERT_EQ(bench({"--emulated", "--precision", "bf16", "--json", "out.json"}).exit_code, 0);
  ASSERT_EQ(bench({"--emulated", "--precision", "bf16"}).exit_code, 0);
  for (const std::string& a : {std::string("1"), std::string("out.json")}) {
    const Outcome outcome = run({"compare", a, "2", "--json"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const Json cells = parse_json(outcome.out, "stdout").at("cells");
    ASSERT_EQ(cells.size(), 2U);
    EXPECT_EQ(cells.at(0).at("verdict"), "cannot tell") << "of grade D, with one sample";
    EXPECT_EQ(cells.at(0).at("reason"), "A is of grade D");
  }
  EXPECT_NE(run({"compare", "1", "2"}).out.find("cannot tell"), std::string::npos);
  expect_failure({"compare", "1", "7"}, 2, "has no run 7");
  expect_failure({"compare", "1"}, 2, "two runs or files");
  expect_failure({"compare", "tokens.json", "1"}, 2, "no list of records");
  expect_failure({"compare", "1", "2", "--fail-if-slower", "much"}, 2, "not a share");
}

TEST_F(CliStore, CommandsAreRunByTurns) {
  const Outcome slower =
      run({"compare", "--interleave", "sleep 0.01", "sleep 0.2", "--rounds", "8", "--fail-if-slower", "3%"});
  EXPECT_EQ(slower.exit_code, 9) << slower.out << slower.err;
  EXPECT_NE(slower.out.find("slower"), std::string::npos) << slower.out;
  EXPECT_EQ(
      run({"compare", "--interleave", "sleep 0.2", "sleep 0.01", "--rounds", "8", "--fail-if-slower", "3%"}).exit_code,
      0);
  expect_failure({"compare", "--interleave", "true", "false"}, 2, "false: exit code 1");
  expect_failure({"compare", "--interleave", "true", "  "}, 2, "a command is empty");
  expect_failure({"compare", "--interleave", "true", "true", "--fail-if-slower", "2"}, 2, "of percents it needs its %");
}

TEST_F(CliStore, CommandsAreRunUntilAVerdictIsSureOrTheBudgetIsSpent) {
  const std::vector<std::string> commands = {"compare", "--interleave", "sleep 0.001", "sleep 0.05", "--until-sure"};
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> all = commands;
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  const Outcome sure = run(with({"--budget", "1m", "--json"}));
  EXPECT_EQ(sure.exit_code, 0) << sure.err;
  EXPECT_NE(sure.out.find("\"stopped_by\": \"verdict\""), std::string::npos) << sure.out;
  EXPECT_NE(sure.out.find("\"verdict\": \"slower\""), std::string::npos) << sure.out;
  const Outcome spent = run(with({"--budget", "0.1s"}));
  EXPECT_TRUE(spent.says("the budget ended it, at look 1")) << spent.out;
  EXPECT_NE(spent.out.find("cannot tell"), std::string::npos) << spent.out;
  for (const char* wrong : {"2x", "", "m", "-1s", "0", "nan", "1e300h"})
    expect_failure(with({"--budget", wrong}), 2, "not a time such as 90s, 2m or 1h");
  expect_failure(with({"--rounds", "9"}), 2, "--rounds");
  expect_failure({"compare", "1", "2", "--until-sure"}, 2, "--interleave");
}

}  // namespace
}  // namespace assay
