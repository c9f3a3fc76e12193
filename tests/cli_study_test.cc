#include "base/json.h"
#include "cli_fixture.h"

namespace assay {
namespace {

/// A study of the tiny model that ends within a second.
constexpr const char* small_study = R"(title = "A small study"

[defaults]
seconds = 0.05
seq = [8]

[[cells]]
name = "speed"
kind = "bench"
model = "model"
precision = ["fp32", "bf16"]
rounds = 3
quality = "none"

[[cells]]
name = "bytes"
kind = "memory"
model = "model"

[[cells]]
name = "absent"
kind = "bench"
weights = "real"
model = "no-such-model"

[[cells]]
name = "sums"
kind = "accumulate"

[[questions]]
text = "Which is smaller?"
field = "model_bytes"
best = "lowest"

[[expectations]]
text = "f32 adds more exactly than f16"
cell = "sums"
table = "rows"
field = "error"
read = "size"
of = { summation = "sequential", accumulator = "f32", addend = "f32" }
is = "below"
than = { summation = "sequential", accumulator = "f16", addend = "f16" }
)";

class Study : public Cli {
 protected:
  void SetUp() override {
    Cli::SetUp();
    write_text(folder_.path() / "small.toml", small_study);
  }
  std::string file_with(const std::string& cell) const {
    write_text(folder_.path() / "bad.toml", "title = \"t\"\n[[cells]]\nkind = \"bench\"\nmodel = \"model\"\n" + cell);
    return "bad.toml";
  }
  std::size_t kept() const {
    std::size_t count = 0;
    for (const auto& entry : fs::directory_iterator(folder_.path() / data_home / "assay" / "studies"))
      count += entry.path().extension() == ".json";
    return count;
  }
};

TEST_F(Study, AnswersOnOneScreenAndKeepsThePage) {
  const Outcome outcome = run({"study", "small.toml"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_LE(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 45) << outcome.out;
  EXPECT_NE(outcome.out.find("A small study"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("absent (skipped): no weights of no-such-model"), std::string::npos) << outcome.out;
  EXPECT_TRUE(fs::exists(folder_.path() / data_home / "assay" / "studies" / "small.html"));
  EXPECT_EQ(kept(), 3U);
}

TEST_F(Study, EveryFormatIsWritten) {
  const Outcome outcome = run({"study", "small.toml", "--store", "none", "--json", "s.json", "--html", "s.html",
                               "--csv", "s.csv", "--markdown", "s.md", "--latex", "s.tex"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const char* file : {"s.json", "s.html", "s.csv", "s.md", "s.tex"})
    EXPECT_GT(fs::file_size(folder_.path() / file), 100U) << file;
  const Json json = parse_json(read_file(folder_.path() / "s.json"), "s.json");
  EXPECT_EQ(json.at("documents").at(0).at("verdicts").at(0).at("verdict"), "as expected");
  EXPECT_FALSE(fs::exists(folder_.path() / data_home / "assay" / "studies"));
}

TEST_F(Study, ResumingRunsNoCellAgainThatStands) {
  ASSERT_EQ(run({"study", "small.toml"}).exit_code, 0);
  const fs::path folder = folder_.path() / data_home / "assay" / "studies";
  std::vector<fs::file_time_type> times;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".json") times.push_back(entry.last_write_time());
  const Outcome again = run({"study", "small.toml", "--resume", "--json", "again.json"});
  EXPECT_EQ(again.exit_code, 0) << again.err;
  std::vector<fs::file_time_type> now;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".json") now.push_back(entry.last_write_time());
  EXPECT_EQ(now, times);
  const Json cells =
      parse_json(read_file(folder_.path() / "again.json"), "again.json").at("documents").at(0).at("cells");
  EXPECT_EQ(cells.at(0).at("state"), "taken over");
  EXPECT_EQ(cells.at(1).at("state"), "taken over");
}

TEST_F(Study, GoesOnAfterACellWasKilled) {
  std::string text = small_study;
  text.replace(text.find("rounds = 3"), 10, "rounds = 100000\nleast-rounds = 100000");
  write_text(folder_.path() / "long.toml", text);
  const Outcome killed =
      run_assay_and_signal_its_child(folder_.path(), {"study", "long.toml", "--json", "a.json"}, SIGKILL);
  EXPECT_EQ(killed.exit_code, 3) << killed.err;
  const Json cells = parse_json(read_file(folder_.path() / "a.json"), "a.json").at("documents").at(0).at("cells");
  EXPECT_EQ(cells.at(0).at("state"), "failed");
  EXPECT_EQ(cells.at(0).at("reason"), "ended by signal 9");
  EXPECT_EQ(cells.at(1).at("state"), "measured") << "one that dies takes no other with it";
  EXPECT_EQ(kept(), 2U);
}

TEST_F(Study, NoCellBeginsOnceTheBudgetIsSpent) {
  write_text(folder_.path() / "short.toml", "budget = 0.000001\n" + std::string(small_study));
  ASSERT_EQ(run({"study", "short.toml", "--json", "a.json"}).exit_code, 0);
  const Json cells = parse_json(read_file(folder_.path() / "a.json"), "a.json").at("cells");
  for (const Json& cell : cells) {
    EXPECT_EQ(cell.at("state"), "skipped");
    EXPECT_NE(cell.at("reason").get<std::string>().find("budget"), std::string::npos) << cell.dump();
  }
}

TEST_F(Study, AChangedCellIsMeasuredAnew) {
  ASSERT_EQ(run({"study", "small.toml"}).exit_code, 0);
  std::string text = small_study;
  text.replace(text.find("rounds = 3"), 10, "rounds = 4");
  write_text(folder_.path() / "small.toml", text);
  ASSERT_EQ(run({"study", "small.toml", "--resume", "--json", "again.json"}).exit_code, 0);
  const Json cells =
      parse_json(read_file(folder_.path() / "again.json"), "again.json").at("documents").at(0).at("cells");
  EXPECT_EQ(cells.at(0).at("state"), "measured");
  EXPECT_EQ(cells.at(1).at("state"), "taken over");
}

TEST_F(Study, ABadFileIsOneLineWithItsPlace) {
  expect_failure({"study", "none.toml"}, 2, "none.toml");
  expect_failure({"study", "inferense"}, 2, "did you mean 'inference'?");
  expect_failure({"study"}, 2, "language-model");
  expect_failure({"study", "small.toml", "--store", "none", "--resume"}, 2, "--resume");
  const std::pair<const char*, const char*> cases[] = {
      {"precison = \"fp32\"\n", "bad.toml:5: cell 'bench': 'precison' is no key of bench; did you mean 'precision'?"},
      {"batch = \"x\"\n", "bad.toml:5: cell 'bench': --batch"},
      {"batch = true\n", "bad.toml:5: cell 'bench': 'batch' must be a value"},
      {"no-baseline = 3\n", "bad.toml:5: cell 'bench': 'no-baseline' must be true or false"},
      {"seconds = [1, 2]\n", "bad.toml:5: cell 'bench': 'seconds' must be one value"},
      {"json = \"x.json\"\n", "bad.toml:5: cell 'bench': 'json' belongs to the study"},
      {"data = \"none.txt\"\n", "none.txt': no such file"},
      {"quick = { bach = 1 }\n", "did you mean 'batch'?"},
      {"[[cells]]\nkind = \"bensh\"\n", "bad.toml:5: 'bensh' is no kind"},
      {"[[cells]]\nkind = \"bench\"\n", "bad.toml:5: two cells have the name 'bench'"},
      {"[defaults]\nsecnds = 1\n",
       "bad.toml:6: defaults: 'secnds' is no key of any cell's kind; did you mean 'seconds'?"},
      {"batch = [1\n", "bad.toml:"}};
  for (const auto& [cell, part] : cases) {
    const std::string file = file_with(cell);
    expect_failure({"study", file}, 2, part);
  }
}

TEST_F(Study, PathsStartFromTheStudysFolder) {
  fs::create_directories(folder_.path() / "inner");
  std::string text = small_study;
  for (std::size_t at = text.find("\"model\""); at != std::string::npos; at = text.find("\"model\"", at + 10))
    text.replace(at, 7, "\"../model\"");
  write_text(folder_.path() / "inner" / "small.toml", text);
  const Outcome outcome = run({"study", "inner/small.toml", "--dry-run", "--json", "plan.json"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json plan = parse_json(read_file(folder_.path() / "plan.json"), "plan.json");
  EXPECT_GT(plan.at("cells").at(0).at("peak_bytes").get<double>(), 0);
  EXPECT_FALSE(fs::exists(folder_.path() / data_home / "assay" / "studies")) << "a dry run runs nothing";
}

TEST_F(Study, NamesOfTheHubAreNoPaths) {
  const Outcome outcome = run({"study", file_with("data = \"hf:datasets/org/set:a.tsv\"\nseq = 8\n"), "--dry-run"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  expect_failure({"study", "small.toml", "--data", "hf:org/set"}, 2, "hf:org/set: is no data set of the hub");
}

TEST_F(Study, EveryExampleIsSoundAndIsCopied) {
  const Outcome list = run({"study", "--list"});
  EXPECT_EQ(list.exit_code, 0) << list.err;
  for (const auto& entry : fs::directory_iterator(fs::path(ASSAY_SOURCE_DIR) / "examples" / "studies")) {
    const std::string name = entry.path().stem().string();
    EXPECT_NE(list.out.find(name), std::string::npos) << name << " is not carried in the program";
    for (const char* length : {"--dry-run", "--quick"}) {
      const Outcome plan = run({"study", name, "--dry-run", length});
      EXPECT_EQ(plan.exit_code, 0) << name << ": " << plan.err;
    }
    EXPECT_EQ(run({"study", "--init", name}).exit_code, 0) << name;
    EXPECT_EQ(read_file(folder_.path() / (name + ".toml")), read_file(entry.path()));
    expect_failure({"study", "--init", name}, 2, "is there already");
  }
}

}  // namespace
}  // namespace assay
