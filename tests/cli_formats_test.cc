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
  EXPECT_TRUE(read_file(folder_.path() / "out.csv").starts_with("method,precision,"));
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
  EXPECT_NE(shown.out.find(": 4 high, 2 medium, 0 low,"), std::string::npos) << shown.out;
  EXPECT_EQ(run({"report", "saved.json"}).out, shown.out);
  EXPECT_NE(read_file(folder_.path() / "shown.md").find("| emulated | high |"), std::string::npos);
  expect_failure({"check", page, "--json", "absent.md"}, 2, "absent.md: No such file or directory");
}

TEST_F(CliFormats, ADocumentWithoutRecordsIsNothingToCompare) {
  ASSERT_EQ(run({"accumulate", "--json=saved.json"}).exit_code, 0);
  expect_failure({"compare", "saved.json", "saved.json"}, 2, "saved.json");
}

}  // namespace
}  // namespace assay
