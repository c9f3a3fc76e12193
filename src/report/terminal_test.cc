#include "report/terminal.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "report/methods.h"
#include "report/text.h"
#include "report/training_table.h"
#include "results/made_up_test.h"
#include "rules/rules.h"

namespace assay {
namespace {

Document document_of(std::vector<Record> records) {
  Document document;
  document.records = std::move(records);
  document.findings = judge(document.records);
  return document;
}

Document document_with_emulated() {
  std::vector<Record> records = made_up_cell();
  records.push_back(made_up_left_out("fp16", Status::emulated, "no f16 matmul instruction here"));
  return document_of(records);
}

std::string report_of(const Document& document) {
  return terminal_report(document, {});
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::string line_with(const std::string& text, const std::string& start) {
  for (const std::string& line : lines_of(text)) {
    if (line.starts_with(start)) return line;
  }
  return "";
}

/// The widest that a row can honestly be.
Record extreme_record() {
  Record record = in_16_bits(
      compared(made_up_record("mixed-bf16[softmax=f32,norm=f32,head=f32]", 0.01234, DType::bf16), 0.999, -0.1, 0.1),
      DType::bf16, 6.5);
  for (LedgerRow& row : record.evidence.ledger) row.verdict = Verdict::emulated;
  record.setting.model = std::string(200, 'm');
  record.latency.made().ci_high_ms = 2 * *record.latency->median_ms;
  record.speedup.made().speedup_low = 0.25;
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
  const std::string text = terminal_report({.records = records, .findings = {}}, {});
  for (const char* part : {"differ-", "Pear-", "Spear-", "1.2e-3", "0.99999 "})
    EXPECT_NE(text.find(part), std::string::npos) << part;
  EXPECT_EQ(text.find("top-1"), std::string::npos) << text;
}

/// A mean of the log beyond 709 is finite, and its exponential is not.
TEST(Terminal, APerplexityBeyondF64IsWrittenAsAPower) {
  std::vector<Record> records = {made_up_record("fp32", 1)};
  records[0].quality.made().perplexity.reset();
  records[0].quality.made().log_perplexity = 812.3;
  const std::string text = terminal_report({.records = records, .findings = {}}, {});
  EXPECT_NE(text.find("e^812"), std::string::npos) << text;
  EXPECT_EQ(text.find("inf "), std::string::npos);
}

TEST(Terminal, FitsIntoTheWidthEvenForExtremes) {
  std::vector<Record> records = made_up_cell();
  records.push_back(extreme_record());
  records.push_back(made_up_left_out("fp16", Status::oom, std::string(500, 'x') + " and more words"));
  Document document;
  document.records = records;
  document.findings = judge(records);
  const std::string report = report_of(document);
  for (const std::string& line : lines_of(report)) EXPECT_LE(display_width(line), 120u) << line;
}

TEST(Terminal, TheUsualTableNeedsNoCutting) {
  const std::string report = report_of(document_with_emulated());
  EXPECT_EQ(report.find("…"), std::string::npos);
  EXPECT_NE(line_with(report, "bf16 ").find("native bf16"), std::string::npos);
}

TEST(Terminal, ARowShowsItsFigures) {
  const std::string row = line_with(report_of(document_with_emulated()), "bf16 ");
  for (const char* figure : {"40.0 ±0.5%", "3.75 [3.67, 3.83]", "3,200", "850", "35%", "no meter", "558", "269",
                             "18.21", "1.2e-5", "99.8", "A"}) {
    EXPECT_NE(row.find(figure), std::string::npos) << figure << " is not in: " << row;
  }
}

TEST(Terminal, ARowWithoutANumberShowsStatusAndReason) {
  EXPECT_EQ(line_with(report_of(document_with_emulated()), "fp16"),
            "fp16        emulated: no f16 matmul instruction here");
}

TEST(Terminal, AnImpossibleRowShowsNoNumbers) {
  std::vector<Record> records = made_up_cell();
  records[2].evidence.instruction_ms = 100;
  const std::string row = line_with(report_of(document_of(records)), "bf16 ");
  EXPECT_NE(row.find("impossible: 40.0 ms is 2.50x"), std::string::npos) << row;
  EXPECT_EQ(row.find("±"), std::string::npos) << row;
}

TEST(Terminal, ALongPrecisionNameGetsALineOfItsOwn) {
  std::vector<Record> records = made_up_cell();
  records[2].setting.precision = "bf16[softmax=f32,norm=f32]";
  const auto lines = lines_of(report_of(document_of(records)));
  const auto at = std::find(lines.begin(), lines.end(), "bf16[softmax=f32,norm=f32]");
  ASSERT_NE(at, lines.end());
  EXPECT_NE((at + 1)->find("40.0 ±0.5%"), std::string::npos);
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
  EXPECT_NE(line_with(report, "bf16 ").find(" 100 "), std::string::npos);
}

TEST(Terminal, EnergyFromShortWindowsIsMarked) {
  std::vector<Record> records = made_up_cell();
  records[1].energy.made().energy_j = 1.234;
  records[1].energy.made().energy_short_share = 0.5;
  EXPECT_NE(line_with(report_of(document_of(records)), "mixed-bf16").find("1.23!"), std::string::npos);
}

TEST(Terminal, LedgerIsGroupedByKernel) {
  const std::string report = report_of(document_with_emulated());
  EXPECT_NE(report.find("    3 linear: s8 x s8 -> s32, brg:avx512_core_amx, packed s8: native (matmul measured"),
            std::string::npos);
}

TEST(Terminal, ColourIsOnlyThereWhenAskedAndChangesNoText) {
  const Document document = document_with_emulated();
  const std::string plain = report_of(document);
  EXPECT_EQ(plain.find('\x1b'), std::string::npos);
  std::string coloured = terminal_report(document, {.colour = Colour::on, .width = 120});
  EXPECT_NE(coloured.find('\x1b'), std::string::npos);
  for (auto at = coloured.find('\x1b'); at != std::string::npos; at = coloured.find('\x1b')) {
    coloured.erase(at, coloured.find('m', at) - at + 1);
  }
  // The last cell is padded before it is painted, so trailing spaces may differ.
  const auto plain_lines = lines_of(plain);
  const auto coloured_lines = lines_of(coloured);
  ASSERT_EQ(plain_lines.size(), coloured_lines.size());
  for (std::size_t i = 0; i < plain_lines.size(); ++i) EXPECT_EQ(coloured_lines[i].find(plain_lines[i]), 0u);
}

TEST(Terminal, WhatRecordsSayDrivesNoTerminal) {
  const std::string hostile = "\x1b]0;owned\a\x1b[2J\nand a line";
  std::vector<Record> records = made_up_cell();
  for (Record& record : records) {
    record.setting.model = record.setting.device = record.energy.made().energy_status =
        record.quality.made().quality_status = hostile;
    record.grade.trust = "B";
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
  for (const std::string& text : {report_of(document), training_report(document), methods_text(sources)}) {
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
  whole.setting.logits = whole.setting.fusion = whole.setting.casts = whole.setting.weights = "-";
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
  for (const char* part : {"./train, cpu, 2 threads, runs of a program\n", "./train, cpu, 2 threads, phase load\n",
                           "phase step, 3 items a time\n", "A, load  ", "A, step  ", "latency: median of one run of",
                           "latency: median of one time through the phase", "runs", "times", "items"}) {
    EXPECT_NE(report.find(part), std::string::npos) << part << " is not in\n" << report;
  }
  EXPECT_EQ(report.find("forward pass"), std::string::npos) << report;
  EXPECT_EQ(report.find("tokens"), std::string::npos) << report;
}

TEST(Terminal, LengthsOfWarmUpAndWhatIsRecomputedHaveTablesOfTheirOwn) {
  std::vector<Record> records(3, made_up_record("fp32", 150));
  for (std::size_t i = 0; i < records.size(); ++i) {
    records[i].setting.mode = Mode::step;
    records[i].setting.warmup_steps = i;
  }
  records[2].setting.recompute = "block";
  std::string report = report_of(document_of(records));
  for (std::size_t at = 0; (at = report.find("\n  ", at)) != std::string::npos;) report.replace(at, 3, " ");
  for (const char* part : {"training: step, 0 warm-up steps", "training: step, 1 warm-up steps",
                           "training: step, recompute block, 2 warm-up steps"}) {
    EXPECT_NE(report.find(part), std::string::npos) << part << " is not in\n" << report;
  }
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
  EXPECT_NE(report.find("bf16       oom: 3,100 MB were missing"), std::string::npos);
  EXPECT_EQ(report.find("latency ms"), std::string::npos);
  EXPECT_EQ(report_of({}), "");
}

}  // namespace
}  // namespace assay
