#include "report/records/described.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "report/methods.h"
#include "report/render.h"
#include "report/text.h"
#include "results/made_up_test.h"
#include "rules/rules.h"

namespace assay {
namespace {

Document document_of(std::vector<Record> records) {
  Document document;
  document.records = std::move(records);
  document = judged(std::move(document));
  return document;
}

Document document_with_emulated() {
  std::vector<Record> records = made_up_cell();
  records.push_back(made_up_left_out("fp16", Status::emulated, "no f16 matmul instruction here"));
  return document_of(records);
}

std::string report_of(const Document& document, Detail detail = Detail::details) {
  return render(document, ReportFormat::terminal, {.detail = detail});
}

std::vector<std::string> report_lines(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::string line_with(const std::string& text, const std::string& start) {
  for (const std::string& line : report_lines(text)) {
    if (line.starts_with(start)) return line;
  }
  return "";
}

TEST(ResultsTable, AnIntervalOfPlusMinusAHundredPercentLeavesNoFigureButItsEnds) {
  std::vector<Record> records = {made_up_record("fp32", 150), made_up_record("bf16", 128)};
  records[1].latency.made().ci_low_ms = 125;
  records[1].latency.made().ci_high_ms = 578;
  const Document document = document_of(records);
  EXPECT_EQ(document.records[1].grade.trust, Trust::d);
  const std::string text = report_of(document);
  EXPECT_NE(text.find("125 to 578"), std::string::npos) << text;
  EXPECT_EQ(line_with(text, "bf16 ").find("128"), std::string::npos) << text;
  const std::string json = render(document, ReportFormat::json, {});
  EXPECT_NE(json.find("\"ci_low_ms\": 125"), std::string::npos);
  EXPECT_NE(json.find("\"ci_high_ms\": 578"), std::string::npos);
}

/// The widest that a row can honestly be.
Record extreme_record() {
  Record record = in_16_bits(
      compared(made_up_record("mixed-bf16[softmax=f32,norm=f32,head=f32]", 0.01234, DType::bf16), 0.999, -0.1, 0.1),
      DType::bf16, 6.5);
  for (LedgerRow& row : record.evidence.ledger) row.verdict = Verdict::emulated;
  record.setting.model = std::string(200, 'm');
  record.latency.made().ci_high_ms = 2 * *record.latency->median_ms;
  record.speedup.made().speedup = 9999.9;
  record.speedup.made().speedup_low = 1234.5;
  record.speedup.made().speedup_high = 12345.6;
  record.rates.tokens_per_s = 123456789;
  record.rates.gflops = 123456;
  record.rates.peak_share = 10.5;
  record.memory.made().peak_bytes = 1'234'567'890'123;
  record.memory.made().model_bytes = 1'234'567'890'123;
  record.quality.made().perplexity = 3.2e38;
  record.difference.made().kl_mean = 1.23e-12;
  record.difference.made().top1_agreement = 1;
  record.grade.trust_reasons.push_back(std::string(300, 'r'));
  return record;
}

TEST(Terminal, ScoresStandWhereDivergenceDoes) {
  std::vector<Record> records = made_up_cell();
  for (Record& record : records) {
    record.quality.made().perplexity.reset();
    record.quality.made().log_perplexity.reset();
    record.difference.made().kl_mean.reset();
    record.difference.made().top1_agreement.reset();
    record.difference.made().score_difference = 0.00123;
    record.difference.made().score_pearson = 0.9999999;
    record.difference.made().score_spearman = 1;
  }
  const std::string text = report_of({.records = records});
  for (const char* part : {"difference", "Pearson", "Spearman", "1.2e-3", "0.99999 "})
    EXPECT_NE(text.find(part), std::string::npos) << part;
  EXPECT_EQ(text.find("top-1"), std::string::npos) << text;
}

TEST(Reports, QualityOfAPartIsMarkedInEveryFormat) {
  Document document;
  document.records = made_up_cell();
  const auto count_in = [&](ReportFormat format, const char* part) {
    const std::string text = render(judged(document), format, {.detail = Detail::details});
    return text.find(part) != std::string::npos;
  };
  constexpr ReportFormat all[] = {ReportFormat::terminal, ReportFormat::markdown, ReportFormat::latex,
                                  ReportFormat::html,     ReportFormat::csv,      ReportFormat::json};
  for (const ReportFormat format : all) EXPECT_FALSE(count_in(format, " of 197,913 tokens"));
  for (Record& record : document.records) record.quality.made().quality_status = interrupted_after({49'478, 197'913});
  for (const ReportFormat format : all) EXPECT_TRUE(count_in(format, "49,478 of 197,913 tokens")) << int(format);
  const std::string brief = render(judged(document), ReportFormat::terminal, {.detail = Detail::brief});
  EXPECT_NE(brief.find("49,478 of 197,913 tokens"), std::string::npos) << brief;
  EXPECT_NE(brief.find("scored"), std::string::npos) << brief;
}

TEST(Terminal, TheLossOfAClassifierIsNoPerplexity) {
  std::vector<Record> records = {made_up_record("fp32", 1)};
  records[0].quality.made().perplexity.reset();
  records[0].quality.made().log_perplexity = 0.6;
  records[0].quality.made().accuracy = 0.7857;
  const std::string text = report_of({.records = records});
  EXPECT_EQ(text.find("PPL"), std::string::npos) << text;
  EXPECT_NE(text.find("quality: accuracy on"), std::string::npos) << text;
}

/// A mean of the log beyond 709 is finite, and its exponential is not.
TEST(Terminal, APerplexityBeyondF64IsWrittenAsAPower) {
  std::vector<Record> records = {made_up_record("fp32", 1)};
  records[0].quality.made().perplexity.reset();
  records[0].quality.made().log_perplexity = 812.3;
  const std::string text = report_of({.records = records});
  EXPECT_NE(text.find("e^812"), std::string::npos) << text;
  EXPECT_EQ(text.find("inf "), std::string::npos);
}

TEST(Terminal, FitsIntoTheWidthEvenForExtremes) {
  std::vector<Record> records = made_up_cell();
  records.push_back(extreme_record());
  records.push_back(made_up_left_out("fp16", Status::oom, std::string(500, 'x') + " and more words"));
  Document document;
  document.records = records;
  document = judged(std::move(document));
  const std::string report = report_of(document);
  for (const std::string& line : report_lines(report)) EXPECT_LE(display_width(line), 120u) << line;
}

TEST(Terminal, ARowShowsItsFigures) {
  const std::string row = line_with(report_of(document_with_emulated()), "bf16 ");
  for (const char* figure : {"40.0 ±0.5%", "3.75 [3.67, 3.83]", "3,200", "850", " 35 ", "558", "269", "18.21", "1.2e-5",
                             "99.8", "native bf16", "A"}) {
    EXPECT_NE(row.find(figure), std::string::npos) << figure << " is not in: " << row;
  }
}

TEST(Terminal, RowsWithoutFiguresForOneReasonStandInOneLine) {
  Document document = document_with_emulated();
  document.records.push_back(
      made_up_left_out("fp8-e4m3", Status::emulated, "fp8-e4m3: no f16 matmul instruction here"));
  EXPECT_EQ(line_with(report_of(document), "- fp16 and fp8-e4m3"),
            "- fp16 and fp8-e4m3: emulated: no f16 matmul instruction here");
}

TEST(Terminal, AnImpossibleRowShowsNoNumbers) {
  std::vector<Record> records = made_up_cell();
  records[2].evidence.instruction_ms = 100;
  const std::string report = report_of(document_of(records));
  EXPECT_NE(line_with(report, "- bf16: impossible: 40.0 ms is 2.50x"), "") << report;
  EXPECT_EQ(line_with(report, "bf16 "), "");
}

/// One screen: nine precisions, each with reasons and findings of its own.
TEST(Terminal, ABriefReportOfOneCellFitsOneScreen) {
  std::vector<Record> records = made_up_cell();
  for (const char* name : {"fp16", "mixed-fp16", "fp16-acc16", "int8-weights", "nf4"}) {
    records.push_back(in_16_bits(compared(made_up_record(name, 160, DType::f16), 0.94, 0.02, 0.002), DType::f16, 0.9));
    records.back().latency.made().ci_low_ms = 150;
    records.back().evidence.ledger[0].verdict = Verdict::widened;
  }
  for (const char* name : {"fp8-e4m3", "fp8-e5m2", "fp4"})
    records.push_back(made_up_left_out(name, Status::emulated, "no such instruction here"));
  const Document document = document_of(records);
  const std::vector<std::string> brief = report_lines(report_of(document, Detail::brief));
  EXPECT_LE(brief.size(), 46U) << report_of(document, Detail::brief);
  EXPECT_LT(brief.size(), report_lines(report_of(document)).size()) << "details say more";
}

TEST(Terminal, ABriefReportNamesTheGravestFindingsAndOnlyExpectationsThatAreNotMet) {
  Document document{.records = made_up_cell()};
  for (int i = 0; i < 8; ++i) {
    document.findings.push_back({.rule = "rule-" + std::to_string(i),
                                 .text = "found " + std::to_string(i),
                                 .severity = i == 7 ? Severity::high : Severity::low});
  }
  document.findings.push_back({.rule = "rule-7", .precision = "int8", .text = "found again"});
  document.findings.push_back({.kind = RuleKind::expectation, .met = true, .text = "came so"});
  document.findings.push_back({.kind = RuleKind::expectation, .met = false, .text = "came otherwise"});
  const std::string brief = report_of(document, Detail::brief);
  EXPECT_NE(brief.find("found 7 Likewise int8 (--details)."), std::string::npos) << brief;
  EXPECT_NE(brief.find("3 more: --details"), std::string::npos) << brief;
  EXPECT_NE(brief.find("came otherwise"), std::string::npos);
  EXPECT_EQ(brief.find("came so"), std::string::npos);
  const std::string details = report_of(document);
  for (const char* part : {"found 6", "found again", "came so"}) EXPECT_NE(details.find(part), std::string::npos);
}

TEST(Terminal, WhatRanIsALineAPrecisionAndAKernelALineInDetail) {
  Document document{.records = made_up_cell()};
  EXPECT_NE(line_with(report_of(document, Detail::brief), "- fp32: 3 of 3 operations native f32"), "");
  document.records[2].evidence.ledger[0].verdict = Verdict::slow;
  const std::string brief = report_of(document, Detail::brief);
  EXPECT_NE(brief.find("2 of 3 operations native bf16"), std::string::npos) << brief;
  EXPECT_NE(brief.find("1 slow bf16"), std::string::npos) << brief;
  EXPECT_NE(report_of(document).find("brg:avx512_core_amx, packed bf16"), std::string::npos);
}

TEST(Terminal, OnlyGradesUnlikeTheCommonOneAreExplained) {
  Document document{.records = made_up_cell()};
  for (Record& record : document.records) {
    record.grade.trust = Trust::b;
    record.grade.trust_reasons = {"B at best: the common reason"};
  }
  document.records[1].grade.trust = Trust::c;
  document.records[1].grade.trust_reasons = {"C at best: its own reason", "B at best: a lesser one"};
  const std::string brief = report_of(document, Detail::brief);
  EXPECT_NE(brief.find("- mixed-bf16, grade C: its own reason\n"), std::string::npos) << brief;
  EXPECT_NE(brief.find("- fp32, as most rows, grade B: the common reason\n"), std::string::npos) << brief;
  EXPECT_NE(report_of(document).find("a lesser one"), std::string::npos);
}

TEST(Terminal, AbsentValuesAreNotZeros) {
  std::vector<Record> records = made_up_cell();
  records[1].difference.made().kl_mean.reset();
  records[1].rates.gflops.reset();
  records[1].rates.peak_share.reset();
  const std::string row = line_with(report_of(document_of(records)), "mixed-bf16");
  EXPECT_NE(row.find(" - "), std::string::npos);
  EXPECT_EQ(row.find(" 0 "), std::string::npos);
}

TEST(Terminal, NearlyFullAgreementIsNotShownAsFull) {
  std::vector<Record> records = made_up_cell();
  records[1].difference.made().top1_agreement = 0.99999;
  records[2].difference.made().top1_agreement = 1;
  const std::string report = report_of(document_of(records));
  EXPECT_NE(line_with(report, "mixed-bf16").find(" 99.9 "), std::string::npos);
  EXPECT_NE(line_with(report, "bf16 ").find(" 100.0 "), std::string::npos);
}

TEST(Terminal, EnergyFromShortWindowsIsSaid) {
  std::vector<Record> records = made_up_cell();
  records[1].energy.made().energy_j = 1.234;
  records[1].energy.made().energy_short_share = 0.5;
  EXPECT_NE(report_of(document_of(records)).find("50 % of the windows of mixed-bf16 are too short"), std::string::npos);
}

TEST(Terminal, ColourIsOnlyThereWhenAskedAndChangesNoText) {
  const Document document = document_with_emulated();
  const std::string plain = report_of(document);
  EXPECT_EQ(plain.find('\x1b'), std::string::npos);
  std::string coloured = render(document, ReportFormat::terminal, {.terminal = {.colour = Colour::on, .width = 120}});
  EXPECT_NE(coloured.find('\x1b'), std::string::npos);
  for (auto at = coloured.find('\x1b'); at != std::string::npos; at = coloured.find('\x1b')) {
    coloured.erase(at, coloured.find('m', at) - at + 1);
  }
  EXPECT_EQ(coloured, plain);
}

TEST(Terminal, WhatRecordsSayDrivesNoTerminal) {
  const std::string hostile = "\x1b]0;owned\a\x1b[2J\nand a line";
  std::vector<Record> records = made_up_cell();
  for (Record& record : records) {
    record.setting.model = record.setting.device = hostile;
    record.energy.made().energy_status.detail = record.quality.made().quality_status.detail = hostile;
    record.grade.trust = Trust::b;
    record.grade.trust_reasons = {hostile};
    for (LedgerRow& row : record.evidence.ledger) row.kernel = row.evidence = row.role = row.operation = hostile;
  }
  records.back().setting.precision = hostile;
  records.push_back(made_up_left_out(hostile, Status::oom, hostile));
  records.back().setting.phase = hostile;
  Document document;
  document.records = records;
  Finding& finding = document.findings.emplace_back();
  finding.rule = "x";
  finding.model = finding.text = hostile;
  const std::vector<ReportSource> sources = {{"run.json", document}};
  for (const std::string& text : {report_of(document), report_of(document, Detail::brief), methods_text(sources)}) {
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
    EXPECT_EQ(text.find('\a'), std::string::npos);
    EXPECT_EQ(text.find("\nand a line"), std::string::npos);
    EXPECT_NE(text.find("\\x1b"), std::string::npos) << "it is shown";
  }
}

/// A program and two of its phases, as `assay measure` writes them.
std::vector<Record> made_up_program() {
  Record whole = made_up_record("A", 150);
  whole.setting.model = "./train";
  whole.setting.baseline = "A";
  whole.setting.mode = Mode::program;
  whole.setting.parameters = 0;
  whole.setting.seq = 1;
  whole.setting.weights = "-";
  whole.setting.logits = LogitsOf::nothing;
  whole.setting.fusion = Switch::unknown;
  whole.setting.casts = CastsMade::unknown;
  std::vector<Record> records = {whole, whole, whole};
  for (std::size_t i : {std::size_t{1}, std::size_t{2}}) {
    records[i].setting.mode = Mode::phase;
    records[i].setting.phase = i == 1 ? "load" : "step";
    if (i == 2) records[i].latency.made().items = 3.0 * 40;
  }
  return records;
}

TEST(Terminal, AProgramAndItsPhasesAreToldApart) {
  const std::string report = report_of(document_of(made_up_program()));
  for (const char* part :
       {"cpu, 2 threads, runs of a program\n", "cpu, 2 threads, a phase of a program\n", "A        ./train ",
        "phase step, 3 items a time ", "A, load  ", "A, step  ", "latency: median of one run of",
        "latency: median of one time through the phase", "runs", "times", "items"}) {
    EXPECT_NE(report.find(part), std::string::npos) << part << " is not in\n" << report;
  }
  EXPECT_EQ(report.find("forward pass"), std::string::npos) << report;
  EXPECT_EQ(report.find("tokens"), std::string::npos) << report;
}

TEST(Terminal, StepsOfTrainingStandTogetherWithTheirPhases) {
  std::vector<Record> records(3, made_up_record("fp32", 150));
  for (std::size_t i = 0; i < records.size(); ++i) {
    records[i].setting.mode = Mode::step;
    records[i].setting.warmup_steps = static_cast<std::int64_t>(i);
    records[i].training.made().mean_forward_ms = 47;
    records[i].training.made().std_forward_ms = 1.5;
  }
  records[2].setting.recompute = Recomputed::block;
  const std::string report = report_of(document_of(records));
  for (const char* part : {"training: step, batch 1\n", "training: step, recompute block, batch 1\n", "47.0 ± 1.5"})
    EXPECT_NE(report.find(part), std::string::npos) << part << " is not in\n" << report;
  EXPECT_NE(line_with(report, "fp32              1 "), "") << "the warm-up is a column\n" << report;
}

TEST(Terminal, AFileOrPipeGetsNoColour) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  EXPECT_EQ(colour_for(ends[1]), Colour::off);
  close(ends[0]);
  close(ends[1]);
}

TEST(Terminal, NoColorIsHonouredOnATerminal) {
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
  if (terminal < 0 || !isatty(terminal)) GTEST_SKIP() << "no pseudo-terminal can be opened here";
  setenv("TERM", "xterm", 1);
  unsetenv("NO_COLOR");
  EXPECT_EQ(colour_for(terminal), Colour::on);
  setenv("NO_COLOR", "1", 1);
  EXPECT_EQ(colour_for(terminal), Colour::off);
  unsetenv("NO_COLOR");
  close(terminal);
}

TEST(Terminal, NothingMeasuredIsStillAnAnswer) {
  const std::string report = report_of(document_of({made_up_left_out("bf16", Status::oom, "3,100 MB were missing")}));
  EXPECT_NE(report.find("bf16: oom: 3,100 MB were missing"), std::string::npos);
  EXPECT_EQ(report.find("latency"), std::string::npos);
  EXPECT_EQ(report_of({}), "");
}

}  // namespace
}  // namespace assay
