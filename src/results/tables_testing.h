#pragma once

#include <cmath>

#include "results/document.h"

namespace assay {

/// What was measured lies along x here, in every form of a mark.
inline Figure lying_figure() {
  Figure figure{.kind = FigureKind::scatter, .key = "lying", .caption = "Lying", .reason = "nothing was measured"};
  figure.x = {.title = "time", .unit = "ms", .low = 0.5, .high = 40.0};
  figure.y = {.categories = {"fp32", "bf16"}};
  for (int mark = 0; mark < figure_marks; ++mark) {
    figure.series.push_back(
        {.name = mark == 0 ? "first" : "second",
         .points = {{.x = 3, .y = 0, .low = 2, .high = 4, .label = "3.0", .words = "fp32: 3 ms", .is_hollow = true},
                    {.x = 90, .y = 0.8, .low = 2, .high = 4},
                    {.x = std::nan(""), .y = 1, .label = "oom"}},
         .mark = static_cast<Figure::Mark>(mark)});
  }
  return figure;
}

/// A document that holds every kind of cell, table and chart, and texts that mean something in every format.
inline Document every_kind_of_document() {
  const std::string hostile = "a|b, \"c\" <b>&amp;</b> $x_1^2$ 50 % \\d{1} *e* `f` [g](h) #1\x1B[31m";
  Table rows{.key = "inner.rows", .caption = "Rows of " + hostile, .legend = "How to read " + hostile};
  rows.columns = {
      {.key = "name", .title = "title " + hostile, .role = Table::Role::label},
      {.key = "width", .title = "W", .unit = "tokens", .notation = Notation::exact, .role = Table::Role::label},
      {.key = "status", .more_keys = {"reason"}},
      {.key = "time_ms", .unit = "ms", .more_keys = {"time_low_ms", "time_high_ms"}},
      {.key = "growth.step", .notation = Notation::count},
      {.key = "growth.cause"},
      {.key = "is_exact"},
      {.key = "words"},
      {.key = "limit", .notation = Notation::scientific, .sign = Sign::always},
      {.key = "secret", .detail = Detail::data}};
  using Words = std::vector<std::string>;
  add_row(rows, {hostile, std::int64_t{7}, RowStatus{}, Estimate{12.34, 12.05, 12.61}, std::int64_t{1234567},
                 "half ulp", true, Words{"one", "two"}, 1.5, "kept from people"});
  add_row(rows, {"refused", std::uint64_t{18446744073709551615U}, RowStatus{Status::oom, "9 GB are needed"},
                 Absent{"9 GB are needed"}, Absent{}, Absent{}, false, Words{}, HUGE_VAL, Absent{"never measured"}});
  add_row(rows, {"plain", std::int64_t{-1}, RowStatus{}, 0.5, Absent{"no step"}, Absent{}, false, Words{"one"},
                 std::nan(""), 2.0});
  Table values{
      .key = "losses", .caption = "Losses", .form = Table::Form::values, .columns = {{.notation = Notation::fixed}}};
  for (const double loss : {3.25, 2.125}) add_row(values, {loss});
  Table facts{.key = "inner"};
  add_fact(facts, {.key = "layers~1*~1ln", .title = "largest"}, 4.5);
  Document document{.subject = {.schema = "assay-made-up-1", .title = "Made up: " + hostile},
                    .tables = {rows, values, facts},
                    .sentences = {{.texts = {"What " + hostile + " says.", "- a second one"}}, {.key = "warnings"}}};
  add_fact(document.subject.facts, {.key = "seed", .title = "seed", .notation = Notation::exact}, std::int64_t{42});
  add_fact(document.methods, {.key = "rounds", .title = "rounds of each"}, std::int64_t{5});
  for (int kind = 0; kind < figure_kinds; ++kind) {
    Figure figure{.kind = static_cast<FigureKind>(kind), .key = "f", .caption = "Figure of " + hostile};
    figure.x = {.title = "x " + hostile, .unit = "s", .categories = {}};
    figure.y = {.title = "y", .scale = kind == 0 ? Figure::Scale::logarithmic : Figure::Scale::linear};
    figure.series = {{"first " + hostile,
                      {{.x = 0, .y = 2, .low = 1, .high = 3, .value = 1, .label = hostile},
                       {.x = 1, .y = 4, .value = 3},
                       {.x = 2, .y = std::nan("")}}},
                     {"second", {{.x = 0, .y = -1, .value = 2}, {.x = 1, .y = 5, .value = 2}}}};
    figure.legend = "How to read " + hostile;
    figure.references = {{"limit " + hostile, {{.x = 0, .y = 3}, {.x = 1, .y = 3}}}};
    document.figures.push_back(figure);
  }
  document.figures.push_back(lying_figure());
  return document;
}

}  // namespace assay
