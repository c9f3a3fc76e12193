#include "report/html/page.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "report/latex.h"
#include "report/methods.h"
#include "report/paper.h"
#include "results/made_up_test.h"
#include "rules/rules.h"

namespace assay {
namespace {

ReportSource made_up_source(const std::string& label = "run.json") {
  ReportSource source{label, {}};
  source.document.machine = {{"processor", "A & B"}, {"cores", 2}, {"threads", 2}, {"memory_bytes", 8'000'000'000}};
  source.document.records = made_up_cell();
  source.document.records.push_back(made_up_left_out("fp8", Status::unsupported, "no such instruction"));
  source.document = judged(std::move(source.document));
  return source;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(HtmlReport, HasAllPartsAndLoadsNothing) {
  const std::vector<ReportSource> sources = {made_up_source()};
  const std::string page = html_report(sources, {.title = "A run", .command = ""});
  for (const char* id : {"panels", "table", "without", "found", "grades", "pareto", "roofline", "samples", "timelines",
                         "ledger", "machine", "methods", "every-field"}) {
    EXPECT_TRUE(has(page, fmt::format("<section id=\"{}\"", id))) << id;
    EXPECT_TRUE(has(page, fmt::format("href=\"#{}\"", id))) << id;
  }
  for (const char* panel : {"Latency", "Speed-up", "Throughput", "Quality", "Model size"}) {
    EXPECT_TRUE(has(page, fmt::format("<h3>{}</h3>", panel))) << panel;
  }
  for (const char* outside : {"http:", "https:", "src=", "@import", "url("})
    EXPECT_FALSE(has(page, outside)) << outside;
  EXPECT_EQ(count(page, "<script"), 1U);
  EXPECT_LT(page.size(), most_page_bytes);
}

TEST(HtmlReport, HeadingsSkipNoLevel) {
  const std::vector<ReportSource> sources = {made_up_source()};
  const std::string page = html_report(sources, {.title = "A run", .command = ""});
  char before = '0';
  for (auto at = page.find("<h"); at != std::string::npos; at = page.find("<h", at + 1)) {
    const char level = page[at + 2];
    if (level < '1' || level > '6') continue;
    EXPECT_LE(level, before + 1) << page.substr(at, 60);
    before = level;
  }
  EXPECT_NE(before, '0');
}

TEST(HtmlReport, SaysWhyAPanelIsEmptyAndARowHasNoFigures) {
  const std::vector<ReportSource> sources = {made_up_source()};
  const std::string page = html_report(sources, {});
  EXPECT_TRUE(has(page, "<p class=\"none\">Not drawn. Energy per sample: no meter: /sys/class/powercap is absent</p>"));
  EXPECT_TRUE(has(page, "<td class=\"text\">unsupported</td><td class=\"text\">no such instruction</td>"));
}

TEST(HtmlReport, DetailsAreFoldedAndAnswersAreNot) {
  const std::vector<ReportSource> sources = {made_up_source()};
  const std::string page = html_report(sources, {});
  for (const char* title : {"Roofline", "Samples", "What ran", "Machine", "Methods", "Every field"})
    EXPECT_TRUE(has(page, fmt::format("<details><summary>Show: {}</summary>", title))) << title;
  for (const char* title : {"Six panels", "Results", "Findings"})
    EXPECT_FALSE(has(page, fmt::format("Show: {}<", title))) << title;
}

TEST(HtmlReport, EveryChartHasANameAndWordsForThoseWhoDoNotSeeIt) {
  const std::vector<ReportSource> sources = {made_up_source()};
  const std::string page = html_report(sources, {});
  EXPECT_GE(count(page, "<svg role=\"img\""), 7U);
  EXPECT_EQ(count(page, "<svg role=\"img\""), count(page, "</title><desc>"));
  EXPECT_FALSE(has(page, "<desc></desc>"));
  EXPECT_FALSE(has(page, "aria-label=\"\""));
  EXPECT_TRUE(has(page, "fp32 (baseline): 150 [149, 151]")) << "the interval is in words too";
}

TEST(HtmlReport, TextsOfOthersAreTextAndNoMarkup) {
  const std::string hostile = "<script>alert(1)</script>\"'&<img src=x onerror=alert(2)>";
  ReportSource source = made_up_source(hostile);
  source.document.machine["processor"] = hostile;
  source.document.machine[hostile] = hostile;
  for (Record& record : source.document.records) {
    record.setting.model = record.setting.precision = record.setting.machine = hostile;
    record.energy.made().energy_status.detail = record.quality.made().quality_status.detail = hostile;
    record.outcome.reason = hostile;
    record.grade.trust_reasons = {hostile};
    for (LedgerRow& row : record.evidence.ledger) row.kernel = row.evidence = row.role = row.operation = hostile;
  }
  for (Finding& finding : source.document.findings) finding.text = finding.model = hostile;
  const std::vector<ReportSource> sources = {source, made_up_source()};
  const std::string page = html_report(sources, {.title = hostile, .command = hostile});
  EXPECT_EQ(count(page, "<script"), 1U);
  EXPECT_EQ(count(page, "<img"), 0U);
  EXPECT_GT(count(page, "&lt;script&gt;alert(1)"), 20U) << "the texts are there";
}

TEST(HtmlReport, StaysBelowItsSizeHoweverMuchWasMeasured) {
  ReportSource source = made_up_source();
  const std::vector<Record> cell = source.document.records;
  for (std::int64_t batch = 2; batch < 80; ++batch) {
    for (Record record : cell) {
      record.setting.batch = batch;
      for (int i = 0; i < 1000; ++i)
        record.latency.made().raw_ms.push_back(record.latency->median_ms.value_or(1) * (1 + 1e-4 * i));
      source.document.records.push_back(record);
    }
  }
  const std::vector<ReportSource> sources = {source};
  const std::string page = html_report(sources, {});
  EXPECT_LT(page.size(), most_page_bytes);
  EXPECT_TRUE(has(page, "more are left out: the page would grow too large"));
}

TEST(HtmlReport, NothingMeasuredIsAPageToo) {
  ReportSource source{"empty.json", {}};
  source.document.records = {made_up_left_out("bf16", Status::oom, "needs 8 GB")};
  const std::vector<ReportSource> sources = {source};
  EXPECT_TRUE(has(html_report(sources, {}), "needs 8 GB"));
  const std::vector<ReportSource> none = {{"none.json", {}}};
  EXPECT_TRUE(has(html_report(none, {}), "nothing was measured"));
}

/// A program with three phases.
ReportSource phases_source() {
  ReportSource source{"measure.json", {}};
  for (const char* phase : {"load", "step", "save"}) {
    Record record = made_up_record("A", 150);
    record.setting.baseline = "A";
    record.setting.mode = Mode::phase;
    record.setting.phase = phase;
    record.setting.logits = LogitsOf::nothing;
    record.latency.made().items = 40;
    source.document.records.push_back(record);
  }
  return source;
}

TEST(HtmlReport, EachPhaseOfAProgramIsASubjectOfItsOwn) {
  const std::vector<ReportSource> sources = {phases_source()};
  const std::vector<ReportSubject> all = subjects(sources);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[1].name, "phase step");
  const std::string page = html_report(sources, {});
  for (const char* phase : {"phase load", "phase step", "phase save"}) {
    EXPECT_TRUE(has(page, fmt::format("A of {} (baseline): 150", phase))) << phase << " is drawn";
  }
  EXPECT_TRUE(has(page, "items/s"));
  EXPECT_FALSE(has(page, "tokens/s"));
}

TEST(Methods, ThatSamplesWereCutOffIsNotCalledComplete) {
  std::vector<ReportSource> sources = {made_up_source()};
  EXPECT_TRUE(has(methods_text(sources), "Every sample is kept with its row"));
  sources[0].document.records[1].latency.made().timed_runs = 100'000;
  EXPECT_FALSE(has(methods_text(sources), "Every sample is kept with its row"));
}

TEST(Methods, SayWhatTheRecordsCarryAndNothingElse) {
  const std::vector<ReportSource> sources = {made_up_source()};
  const std::string text = methods_text(sources);
  EXPECT_TRUE(has(text, "Samples: 40 a row"));
  EXPECT_TRUE(has(text, "Sampling was ended by width of 4 rows."));
  EXPECT_TRUE(has(text, "No energy is given, and none was estimated."));
  EXPECT_TRUE(has(text, "fp8 of smollm2-135m at 1 x 128 (unsupported: no such instruction)"));
  EXPECT_FALSE(has(text, "Temperature")) << "no sensor was read";
  EXPECT_FALSE(has(text, "Warm-up:")) << "no run before the samples is recorded";
}

TEST(Latex, EscapesWhatItsReaderActsOn) {
  EXPECT_EQ(latex_text("50% of $a_b & #1 {x} \\y"), "50\\% of \\$a\\_b \\& \\#1 \\{x\\} \\textbackslash{}y");
  EXPECT_EQ(latex_text("± 3 × größe"), "$\\pm$ 3 $\\times$ größe");
  EXPECT_EQ(latex_text("模"), "[U+6A21]");
  EXPECT_EQ(latex_text("a\xFF"), "a?");
}

TEST(Latex, HasATableOfEachSubjectAndEveryPrecision) {
  const std::vector<ReportSource> sources = {made_up_source()};
  const std::string text = latex_report(sources, "A run");
  EXPECT_EQ(count(text, "\\begin{longtable}"), 1U);
  EXPECT_EQ(count(text, "\\toprule"), 1U);
  for (const char* precision : {"fp32", "mixed{-}bf16", "int8", "fp8"}) EXPECT_TRUE(has(text, precision)) << precision;
  EXPECT_TRUE(text.ends_with("\\end{document}\n"));
}

}  // namespace
}  // namespace assay
