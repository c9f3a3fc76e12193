#include "cli_fixture.h"

namespace assay {
namespace {

using CliFormats = Cli;

TEST_F(CliFormats, AJsonFlagPrintsJsonAloneAndNeverTakesTheNextWord) {
  const Outcome outcome = run({"accumulate", "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json json = parse_json(outcome.out, "stdout");
  EXPECT_EQ(json.at("rows").size(), 19U);
  expect_failure({"accumulate", "--json", "out.json"}, 2, "out.json");
  EXPECT_FALSE(fs::exists(folder_.path() / "out.json"));
}

TEST_F(CliFormats, AJsonFlagWithAFileWritesItBesideTheText) {
  const Outcome outcome = run({"accumulate", "--json=out.json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("bf16 stops growing at step 351"), std::string::npos);
  EXPECT_EQ(parse_json(read_file(folder_.path() / "out.json"), "out.json").at("count"), 1000);
}

TEST_F(CliFormats, ADashIsStandardOutputAndThenNothingElseIs) {
  const Outcome outcome = run({"attention", "--batch", "1", "--head-dim", "8", "--seq", "16", "--repetitions", "2",
                               "--store", "none", "--json", "-", "--csv", "out.csv"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(parse_json(outcome.out, "stdout").at("cells").size(), 2U);
  EXPECT_TRUE(read_file(folder_.path() / "out.csv").starts_with("table,method,precision,"));
  EXPECT_FALSE(fs::exists(folder_.path() / "-"));
  expect_failure({"accumulate", "--json", "--csv", "-"}, 2, "is also what");
}

TEST_F(CliFormats, ASavedDocumentIsReportedAsItWasShown) {
  const Outcome shown = run({"accumulate", "--json=saved.json", "--html", "shown.html", "--markdown", "shown.md",
                             "--latex", "shown.tex", "--csv", "shown.csv"});
  ASSERT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_EQ(run({"report", "saved.json"}).out, shown.out);
  ASSERT_EQ(
      run({"report", "saved.json", "--html", "again.html", "--csv", "again.csv", "--json", "again.json"}).exit_code, 0);
  EXPECT_EQ(read_file(folder_.path() / "again.html"), read_file(folder_.path() / "shown.html"));
  EXPECT_EQ(read_file(folder_.path() / "again.csv"), read_file(folder_.path() / "shown.csv"));
  EXPECT_EQ(parse_json(read_file(folder_.path() / "again.json"), "again"),
            parse_json(read_file(folder_.path() / "saved.json"), "saved"));
  EXPECT_NE(read_file(folder_.path() / "shown.html").find("<svg"), std::string::npos);
  EXPECT_NE(read_file(folder_.path() / "shown.tex").find("\\end{longtable}"), std::string::npos);
}

TEST_F(CliFormats, ASavedCheckIsReportedWithItsOwnFindings) {
  const std::string page = ASSAY_SOURCE_DIR "/examples/doubtful-table.md";
  const Outcome shown = run({"check", page, "--json=saved.json", "--markdown", "shown.md"});
  EXPECT_EQ(shown.exit_code, 10) << shown.err;
  EXPECT_NE(shown.out.find(": 5 high, 2 medium, 0 low,"), std::string::npos) << shown.out;
  EXPECT_EQ(run({"report", "saved.json"}).out, shown.out);
  EXPECT_NE(read_file(folder_.path() / "shown.md").find("| emulated | high |"), std::string::npos);
  expect_failure({"check", page, "--json", "absent.md"}, 2, "absent.md: No such file or directory");
}

TEST_F(CliFormats, EveryStudyTakesEveryFormatAndIsReportedAsItWasShown) {
  for (const Arguments& study : {Arguments{"memory", "model", "--mode", "train", "--precision", "fp32", "--seq", "8"},
                                 {"explain", "model", "--seq", "8", "--passes"},
                                 {"probe"},
                                 {"profile", "model", "--seq", "8", "--rounds", "2", "--against", "bf16"}}) {
    SCOPED_TRACE(study.front());
    Arguments arguments = study;
    const bool is_flag = study.front() == "explain" || study.front() == "probe";
    for (const char* one : {"--csv", "out.csv", "--markdown", "out.md", "--latex", "out.tex", "--html", "out.html"})
      arguments.emplace_back(one);
    for (const char* one : is_flag ? std::initializer_list<const char*>{"--json=out.json"}
                                   : std::initializer_list<const char*>{"--json", "out.json"})
      arguments.emplace_back(one);
    const Outcome shown = run(arguments);
    ASSERT_EQ(shown.exit_code, 0) << shown.err;
    EXPECT_EQ(run({"report", "out.json"}).out, shown.out);
    for (const char* file : {"out.csv", "out.md", "out.tex", "out.html"})
      EXPECT_GT(read_file(folder_.path() / file).size(), 500U);
  }
}

TEST_F(CliFormats, ChartsAreFilesOfTheirOwn) {
  ASSERT_EQ(run({"memory", "model", "--precision", "fp32,bf16", "--seq", "8", "--svg", "memory.svg"}).exit_code, 0);
  ASSERT_EQ(run({"profile", "model", "--seq", "8", "--rounds", "2", "--flame", "flame.svg"}).exit_code, 0);
  const std::string memory = read_file(folder_.path() / "memory.svg");
  EXPECT_TRUE(memory.starts_with("<svg xmlns=")) << memory;
  EXPECT_NE(memory.find("bf16, 1 x 8, recompute none"), std::string::npos);
  EXPECT_NE(memory.find(">forward<"), std::string::npos) << "where the phase begins";
  EXPECT_EQ(memory.find("var("), std::string::npos) << "viewers of files know no variables";
  EXPECT_NE(read_file(folder_.path() / "flame.svg").find("<rect"), std::string::npos);
}

TEST_F(CliFormats, ADocumentWithoutRecordsIsNothingToCompare) {
  ASSERT_EQ(run({"accumulate", "--json=saved.json"}).exit_code, 0);
  expect_failure({"compare", "saved.json", "saved.json"}, 2, "saved.json");
}

}  // namespace
}  // namespace assay
