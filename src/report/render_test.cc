#include "report/render.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <sstream>

#include "base/json.h"
#include "report/draw/figure.h"
#include "report/number_text.h"
#include "report/shown_table.h"
#include "report/text.h"
#include "results/tables_testing.h"

namespace assay {
namespace {

constexpr ReportFormat for_people[] = {ReportFormat::terminal, ReportFormat::markdown, ReportFormat::latex,
                                       ReportFormat::html};

std::string rendered(ReportFormat format, Detail detail = Detail::details) {
  return render(every_kind_of_document(), format, {.detail = detail});
}

std::size_t count_of(const std::string& part, const std::string& text) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(Render, EveryFigureStandsInEveryFormatThatPeopleRead) {
  for (const ReportFormat format : for_people) {
    const std::string text = rendered(format);
    for (const char* figure : {"12.3", "12.1", "12.6", "1,234,567", "18446744073709551615", "0.500", "3.250", "2.125",
                               "half ulp", "one, two", "inf", "nan", "4.50", "42", "rounds of each"}) {
      EXPECT_NE(text.find(figure), std::string::npos) << figure << "\n" << text;
    }
    EXPECT_NE(text.find("9 GB are needed"), std::string::npos) << "why a row has no figures";
    EXPECT_NE(text.find("no step"), std::string::npos) << "why a cell has none";
    EXPECT_EQ(text.find("kept from people"), std::string::npos) << "data for programs";
  }
}

TEST(Render, CsvHasEveryColumnOfEveryTableWhole) {
  const std::string text = rendered(ReportFormat::csv);
  EXPECT_NE(text.find("table,name,width,status,reason,time_ms,time_low_ms,time_high_ms,growth.step,growth.cause,"
                      "is_exact,words,limit,secret\r\n"),
            std::string::npos)
      << text;
  EXPECT_NE(
      text.find(",12.34,12.05,12.61,1234567,half ulp,true,\"[\"\"one\"\",\"\"two\"\"]\",1.5,kept from people\r\n"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("inner.rows,refused,18446744073709551615,oom,9 GB are needed,,,,,,false,[],,\r\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("losses,2.125\r\n"), std::string::npos) << text;
}

TEST(Render, CsvOfOneTableIsThatTable) {
  Document document = every_kind_of_document();
  document.tables.resize(1);
  const std::string text = render(document, ReportFormat::csv, {});
  EXPECT_TRUE(text.starts_with("name,width,status,reason,")) << text;
}

TEST(Render, TextsAreEscapedForEachFormat) {
  const std::string terminal = rendered(ReportFormat::terminal);
  EXPECT_EQ(terminal.find('\x1B'), std::string::npos) << "nothing in a text reaches the terminal as a command";
  const std::string page = rendered(ReportFormat::html);
  EXPECT_EQ(page.find("<b>"), std::string::npos);
  EXPECT_NE(page.find("&lt;b&gt;&amp;amp;&lt;/b&gt;"), std::string::npos);
  const std::string markdown = rendered(ReportFormat::markdown);
  EXPECT_NE(markdown.find("\\<b\\>"), std::string::npos) << markdown;
  EXPECT_NE(markdown.find("\\*e\\* \\`f\\` \\[g\\](h)"), std::string::npos) << markdown;
  EXPECT_NE(markdown.find("- \\- a second one"), std::string::npos) << "a sentence is no list";
  const std::string latex = rendered(ReportFormat::latex);
  EXPECT_NE(latex.find("\\$x\\_1\\textasciicircum{}2\\$ 50 \\% \\textbackslash{}d\\{1\\}"), std::string::npos) << latex;
}

TEST(Render, MarkdownTablesHaveACellAColumnWhateverTheTexts) {
  std::istringstream lines(rendered(ReportFormat::markdown));
  std::size_t rows = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with('|')) continue;
    ++rows;
    EXPECT_EQ(count_of("|", line) - count_of("\\|", line), 10U) << line;  // nine columns
  }
  EXPECT_EQ(rows, 5U);
}

TEST(Render, NoLineOfTheTerminalIsWiderThanAsked) {
  RenderOptions options;
  for (const std::size_t width : {60U, 80U, 120U}) {
    options.terminal.width = width;
    std::istringstream lines(render(every_kind_of_document(), ReportFormat::terminal, options));
    for (std::string line; std::getline(lines, line);) {
      EXPECT_LE(display_width(line), width) << line;
      EXPECT_TRUE(line.empty() || line.back() != ' ') << line;
    }
  }
}

TEST(Render, ATableTooWideForTheTerminalGoesOnBelowWithItsLabels) {
  Table table{.key = "wide", .columns = {{.key = "row", .role = Table::Role::label}}};
  std::vector<Table::Cell> cells = {"label"};
  for (int i = 0; i < 40; ++i) {
    table.columns.push_back({.key = "c" + std::to_string(i), .notation = Notation::exact});
    cells.emplace_back(std::int64_t{1000000 + i});
  }
  add_row(table, cells);
  const std::string text = render({.tables = {table}}, ReportFormat::terminal, {});
  for (int i = 0; i < 40; ++i) EXPECT_EQ(count_of(std::to_string(1000000 + i), text), 1U) << text;
  EXPECT_GT(count_of("label", text), 2U);
}

TEST(Render, WhatIsForDetailsIsLeftOutOfABriefReport) {
  Document document = every_kind_of_document();
  document.tables[0].detail = Detail::details;
  document.sentences[0].detail = Detail::details;
  for (const ReportFormat format : {ReportFormat::terminal, ReportFormat::html}) {
    const std::string brief = render(document, format, {.detail = Detail::brief});
    if (format == ReportFormat::terminal) {
      EXPECT_EQ(brief.find("1,234,567"), std::string::npos) << brief;
      EXPECT_EQ(brief.find("a second one"), std::string::npos) << brief;
    }
    EXPECT_NE(brief.find("3.250"), std::string::npos) << brief;
  }
}

TEST(Render, AColumnOfStatesIsShownWhereOneIsNotOk) {
  Document document = every_kind_of_document();
  EXPECT_NE(render(document, ReportFormat::terminal, {}).find("status"), std::string::npos);
  document.tables[0].rows.erase(document.tables[0].rows.begin() + 1);
  EXPECT_EQ(render(document, ReportFormat::terminal, {}).find("status"), std::string::npos);
}

TEST(Render, WhatIsReadBackFromJsonIsShownTheSame) {
  const Document document = every_kind_of_document();
  const Json json = parse_json(render(document, ReportFormat::json, {}), "made up");
  const Document again = document_from_json(json, "made up");
  for (const ReportFormat format : for_people) EXPECT_EQ(render(again, format, {}), render(document, format, {}));
  EXPECT_EQ(render(again, ReportFormat::csv, {}), render(document, ReportFormat::csv, {}));
}

TEST(Render, EveryKindOfFigureDrawsItsSeriesAndNamesThem) {
  for (const Figure& figure : every_kind_of_document().figures) {
    SCOPED_TRACE(name(figure.kind));
    const std::string html = figure_html(figure);
    EXPECT_EQ(html.find("nan"), std::string::npos);
    EXPECT_EQ(html.find("inf"), std::string::npos);
    EXPECT_GE(count_of("<path", html) + count_of("<rect", html), 3U) << html;
    EXPECT_NE(html.find("second"), std::string::npos) << "the legend";
    const std::string file = figures_svg({&figure, 1});
    EXPECT_TRUE(file.starts_with("<svg xmlns=")) << file;
    EXPECT_EQ(file.find("<b>"), std::string::npos);
  }
  EXPECT_NE(figure_html({}).find("nothing to draw"), std::string::npos);
}

TEST(ShownTable, TheGistGivesAFewOfManyReasons) {
  Table table{.columns = {{.key = "row", .role = Table::Role::label}, {.key = "ms"}}};
  for (std::int64_t row = 0; row < 9; ++row) add_row(table, {row, Absent{fmt::format("reason {}", row)}});
  EXPECT_EQ(shown_table(table, Detail::details).reasons.size(), 9U);
  const std::vector<std::string> gist = shown_table(table, Detail::brief).reasons;
  ASSERT_EQ(gist.size(), 5U);
  EXPECT_EQ(gist.front(), "row 0: reason 0");
  EXPECT_EQ(gist.back(), "... and 5 more (--details)");
}

TEST(ShownTable, RowsThatLackAFigureForOneReasonShareALine) {
  Table table{.columns = {{.key = "name", .role = Table::Role::label},
                          {.key = "n", .role = Table::Role::label},
                          {.key = "ms"}}};
  for (std::int64_t row = 0; row < 4; ++row) add_row(table, {row < 3 ? "tf32" : "fp32", row, Absent{"no such device"}});
  add_row(table, {"bf16", std::int64_t{4}, Absent{"too slow"}});
  EXPECT_EQ(shown_table(table, Detail::brief).reasons,
            (std::vector<std::string>{"tf32 and fp32 (4 rows): no such device", "bf16, n 4: too slow"}));
}

TEST(NumberText, NotationSaysHowANumberReads) {
  const auto text = [](double value, Notation notation, int digits) {
    return number_text(value, {.notation = notation, .digits = digits});
  };
  EXPECT_EQ(text(0.1, Notation::exact, 3), "0.1");
  EXPECT_EQ(text(1234.6, Notation::significant, 3), "1235");
  EXPECT_EQ(text(2, Notation::fixed, 3), "2.000");
  EXPECT_EQ(text(6.1e-5, Notation::general, 3), "6.1e-05");
  EXPECT_EQ(text(1.5, Notation::scientific, 2), "1.50e0");
  EXPECT_EQ(text(-1234567, Notation::count, 0), "-1,234,567");
  EXPECT_EQ(text(91.3e6, Notation::bytes, 3), "91.3 MB");
  EXPECT_EQ(text(0.123, Notation::percent, 1), "12.3 %");
  EXPECT_EQ(number_text(2, {.digits = 2, .sign = Sign::always}), "+2.0");
  EXPECT_EQ(number_text(-std::nan(""), {.sign = Sign::always}), "nan");
  EXPECT_EQ(number_text(-HUGE_VAL, {}), "-inf");
  EXPECT_EQ(cell_text(Estimate{12.34, 12.05, 12.61}, {}), "12.3 [12.1, 12.6]");
  EXPECT_EQ(cell_text(Absent{"why"}, {}), "-");
}

TEST(NumberText, ShowsBothEndsOfAnIntervalThatLiesUnevenly) {
  const Table::Column percent = {.spread = Spread::percent};
  EXPECT_EQ(cell_text(Estimate{12.8, 12.4, 13.2}, percent), "12.8 ±3.1%");
  EXPECT_EQ(cell_text(Estimate{12.8, 12.5, 57.8}, percent), "12.8 [12.5, 57.8]");
  EXPECT_EQ(cell_text(Estimate{12.8, 12.79, 12.83}, percent), "12.8 ±0.2%") << "uneven, but too narrow to matter";
  EXPECT_EQ(cell_text(Estimate{12.8, 12.5, 57.8}, {.spread = Spread::half_width}), "12.8 [12.5, 57.8]");
}

}  // namespace
}  // namespace assay
