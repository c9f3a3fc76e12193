#include <cstdio>
#include <cstdlib>
#include <memory>

#include "cli_fixture.h"

namespace assay {
namespace {

using CliReport = Cli;

/// The headless browser on this machine; empty: none.
std::string browser() {
  for (const char* name : {"chromium", "chromium-browser", "google-chrome"}) {
    if (std::system(fmt::format("command -v {} >/dev/null 2>&1", name).c_str()) == 0) return name;
  }
  return "";
}

/// What a shell command writes to stdout and stderr.
std::string output_of(const std::string& command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen((command + " 2>&1").c_str(), "r"), pclose);
  std::string text;
  char buffer[4096];
  while (const std::size_t read = std::fread(buffer, 1, sizeof buffer, pipe.get())) text.append(buffer, read);
  return text;
}

/// The text of every cell of that column of a table, from the page as the browser has it.
std::vector<double> sorted_by(const std::string& page, const std::string& table) {
  std::vector<double> values;
  const auto begin = page.find("id=\"" + table + "\"");
  const std::string body = page.substr(begin, page.find("</table>", begin) - begin);
  for (auto row = body.find("<tr>", body.find("<tbody>")); row != std::string::npos; row = body.find("<tr>", row + 1)) {
    const std::string mark = "data-v=\"";
    const auto value = body.find(mark, row);  // Latency is the first column with a sorting value.
    if (value != std::string::npos) values.push_back(std::strtod(body.c_str() + value + mark.size(), nullptr));
  }
  return values;
}

TEST_F(CliReport, WritesEveryFormatOfWhatBenchMeasured) {
  ASSERT_EQ(bench({"--emulated", "--precision", "fp32,bf16,int8", "--json", "run.json"}).exit_code, 0);
  const Outcome outcome = run(
      {"report", "run.json", "--html", "run.html", "--latex", "run.tex", "--markdown", "run.md", "--csv", "run.csv"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_TRUE(read_file(folder_.path() / "run.html").ends_with("</html>\n"));
  EXPECT_NE(read_file(folder_.path() / "run.tex").find("\\toprule"), std::string::npos);
  EXPECT_NE(read_file(folder_.path() / "run.md").find("# Methods"), std::string::npos);
  EXPECT_TRUE(read_file(folder_.path() / "run.csv").starts_with("model,"));
}

TEST_F(CliReport, MethodsArePrintedFromTheRecords) {
  ASSERT_EQ(bench({"--precision", "fp32", "--json", "run.json"}).exit_code, 0);
  const Outcome outcome = run({"report", "run.json", "--methods"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_TRUE(outcome.says("Samples: 1 a row")) << outcome.out;
  EXPECT_TRUE(outcome.says("Left out: nothing.")) << outcome.out;
}

TEST_F(CliReport, AnExportIsJudgedAsItsRunIs) {
  ASSERT_EQ(bench({"--emulated", "--precision", "fp32,bf16"}).exit_code, 0);
  ASSERT_EQ(run({"export", "--json", "all.json"}).exit_code, 0);
  const Outcome by_number = run({"report", "1"});
  const Outcome by_file = run({"report", "all.json"});
  ASSERT_EQ(by_file.exit_code, 0) << by_file.err;
  EXPECT_NE(by_file.out.find("Findings\n"), std::string::npos) << by_file.out;
  EXPECT_EQ(by_file.out, by_number.out);
}

TEST_F(CliReport, AVerdictMeasuresItsRowsAndStandsBesideThemEverywhere) {
  const Outcome measured = bench({"--precision", "fp32", "--verdict", "bf16,int8", "--emulated", "--json", "run.json",
                                  "--html", "run.html", "--csv", "run.csv"});
  ASSERT_EQ(measured.exit_code, 0) << measured.err;
  EXPECT_NE(measured.out.find("Verdict\n"), std::string::npos) << measured.out;
  EXPECT_NE(measured.out.find("fp32 "), std::string::npos) << "the records' table stands there: " << measured.out;
  const Json json = parse_json(read_file(folder_.path() / "run.json"), "run.json");
  EXPECT_EQ(json.at("records").size(), 3U);
  EXPECT_EQ(json.at("verdict").at("asked"), Json({"bf16", "int8"}));
  EXPECT_NE(read_file(folder_.path() / "run.html").find("Verdict"), std::string::npos);
  EXPECT_TRUE(read_file(folder_.path() / "run.csv").starts_with("model,")) << "records, as ever";
  const Outcome read = run({"report", "run.json", "--verdict", "fp32,int8"});
  EXPECT_EQ(read.exit_code, 0) << read.err;
  EXPECT_NE(read.out.find("Verdict\n"), std::string::npos) << read.out;
  const Outcome both = run({"report", "run.json", "1", "--verdict", "bf16,int8"});
  EXPECT_EQ(both.exit_code, 0) << both.err;
  expect_failure({"report", "run.json", "--verdict", "fp16,int8-weights"}, 2, "no record is of them");
  expect_failure({"report", "run.json", "--verdict", "int8"}, 2, "at least two");
  expect_failure({"bench", "model", "--verdict", "int8,int7"}, 2, "int7");
}

TEST_F(CliReport, AnImpossibleRowWithoutAReasonIsShown) {
  ASSERT_EQ(bench({"--precision", "fp32", "--json", "run.json"}).exit_code, 0);
  Json document = parse_json(read_file(folder_.path() / "run.json"), "run.json");
  document["records"][0]["status"] = "impossible";
  document["records"][0]["median_ms"] = nullptr;
  document["records"][0]["model"] = "\x1b[2Jmodel";
  write_text(folder_.path() / "x.json", document.dump());
  ASSERT_EQ(run({"import", "x.json", "--store", "theirs.db"}).exit_code, 0);
  const Outcome outcome = run({"report", "1", "--store", "theirs.db"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_TRUE(outcome.says("impossible: it was found impossible before")) << outcome.out;
  EXPECT_EQ(outcome.out.find('\x1b'), std::string::npos);
}

TEST_F(CliReport, WhatWasChangedByHandIsSaidByAllThatReadIt) {
  ASSERT_EQ(bench({"--emulated", "--precision", "fp32,bf16", "--json", "run.json"}).exit_code, 0);
  EXPECT_EQ(run({"verify", "run.json"}).exit_code, 0);
  EXPECT_EQ(run({"check", "run.json"}).exit_code, 0);
  Json json = Json::parse(read_file(folder_.path() / "run.json"));
  for (Json& ms : json["records"][1]["raw_ms"]) ms = ms.get<double>() / 20;
  write_file_atomically(folder_.path() / "edited.json", json.dump());
  const Outcome verified = run({"verify", "edited.json"});
  EXPECT_EQ(verified.exit_code, 10);
  EXPECT_TRUE(verified.says("record 2: median_ms was written as")) << verified.out;
  const Outcome checked = run({"check", "edited.json"});
  EXPECT_EQ(checked.exit_code, 10);
  EXPECT_TRUE(checked.says("bf16: median_ms was written as")) << checked.out;
  ASSERT_EQ(run({"report", "edited.json", "--json", "again.json"}).exit_code, 0);
  EXPECT_EQ(run({"verify", "again.json"}).exit_code, 10) << "showing a file does not make it sound";
}

TEST_F(CliReport, RefusesWhatIsNoFileOfRecordsInOneLine) {
  write_text(folder_.path() / "no.json", "{\"cells\": []}");
  write_text(folder_.path() / "bad.json", "{");
  expect_failure({"report", "absent.json"}, 2, "absent.json");
  expect_failure({"report", "no.json", "--html", "x.html"}, 2, "no.json: no list of records");
  expect_failure({"report", "bad.json"}, 2, "bad.json");
  expect_failure({"report", std::string(300, 'n')}, 2, "File name too long");
  expect_failure({"report", "1", "--store", "bad.json/below.db"}, 2, "there is no such store");
  expect_failure({"report", "no.json", "--html", "no/such/folder/x.html"}, 2, "no/such/folder");
}

TEST_F(CliReport, ABrowserShowsThePageWithoutAnErrorAndSortsItsTables) {
  const std::string program = browser();
  if (program.empty()) GTEST_SKIP() << "no chromium is installed: the page was not opened in a browser";
  ASSERT_EQ(bench({"--emulated", "--precision", "fp32,bf16,int8", "--json", "run.json"}).exit_code, 0);
  ASSERT_EQ(
      run({"report", "run.json", "--title", "<script>console.error('run')</script>", "--html", "run.html"}).exit_code,
      0);
  const std::string page = output_of(fmt::format(
      "{} --headless --no-sandbox --disable-gpu --enable-logging=stderr --user-data-dir='{}/profile' --dump-dom "
      "'file://{}/run.html#sort-results-2-descending'",
      program, folder_.path().string(), folder_.path().string()));
  ASSERT_NE(page.find("</html>"), std::string::npos) << page.substr(0, 2000);
  EXPECT_EQ(page.find("CONSOLE"), std::string::npos) << page.substr(0, 4000);
  EXPECT_NE(page.find("aria-sort=\"descending\""), std::string::npos);
  EXPECT_NE(page.find("<button type=\"button\""), std::string::npos) << "the script ran";
  const std::vector<double> latencies = sorted_by(page, "results");
  ASSERT_GE(latencies.size(), 2U);
  EXPECT_TRUE(std::is_sorted(latencies.rbegin(), latencies.rend())) << fmt::format("{}", fmt::join(latencies, " "));
}

}  // namespace
}  // namespace assay
