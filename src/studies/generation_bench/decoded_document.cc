#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/units.h"
#include "results/document.h"
#include "results/figure.h"
#include "results/model_name.h"
#include "results/parts.h"
#include "results/record.h"
#include "results/states.h"
#include "results/table.h"
#include "studies/generation_bench/document.h"

namespace assay {
namespace {

/// A model in a precision, whose records of decoding all say the same of quality.
using DecodedRow = const Record*;
using DecodedColumn = ColumnOf<DecodedRow>;

std::vector<DecodedRow> decoded_rows(const std::vector<Record>& records) {
  std::vector<DecodedRow> rows;
  for (const Record& record : records) {
    const bool is_known = std::any_of(rows.begin(), rows.end(), [&](DecodedRow row) {
      return row->setting.model == record.setting.model && row->setting.precision == record.setting.precision;
    });
    if (record.setting.mode == Mode::decode && (record.difference || record.quality->perplexity) && !is_known)
      rows.push_back(&record);
  }
  return rows;
}

DecodedColumn equal_share_column(const char* key, const char* title, std::optional<double> DecodedDifference::*share) {
  return {{.key = key, .title = title, .notation = Notation::percent, .digits = 0},
          [share](const DecodedRow& row) { return or_absent((*row->decoded).*share); }};
}

std::vector<DecodedColumn> decoded_columns() {
  constexpr auto label = Table::Role::label;
  return {
      {{.key = "model", .role = label},
       [](const DecodedRow& row) -> Table::Cell { return shown_model_name(row->setting.model); }},
      {{.key = "precision", .role = label},
       [](const DecodedRow& row) -> Table::Cell { return row->setting.precision; }},
      {{.key = "perplexity", .digits = 4}, [](const DecodedRow& row) { return or_absent(row->quality->perplexity); }},
      {{.key = "delta_log_perplexity",
        .title = "change of its log",
        .unit = "nats",
        .notation = Notation::fixed,
        .digits = 4,
        .sign = Sign::always,
        .more_keys = {"delta_log_perplexity_low", "delta_log_perplexity_high"}},
       [](const DecodedRow& row) {
         const Difference& change = *row->difference;
         return estimate_or_absent(change.delta_log_perplexity, change.delta_log_perplexity_low,
                                   change.delta_log_perplexity_high);
       }},
      {{.key = "kl_mean", .title = "KL", .unit = "nats", .notation = Notation::scientific, .digits = 1},
       [](const DecodedRow& row) { return or_absent(row->difference->kl_mean); }},
      {{.key = "top1_agreement", .title = "same top-1", .notation = Notation::percent, .digits = 1},
       [](const DecodedRow& row) { return or_absent(row->difference->top1_agreement); }},
      {{.key = "kl_growth",
        .title = "KL, second half over first",
        .unit = "x",
        .notation = Notation::fixed,
        .digits = 2,
        .more_keys = {"kl_growth_low", "kl_growth_high"}},
       [](const DecodedRow& row) {
         const DecodedDifference& decoded = *row->decoded;
         return estimate_or_absent(decoded.kl_growth, decoded.kl_growth_low, decoded.kl_growth_high);
       }},
      equal_share_column("equal_32", "32 tokens equal", &DecodedDifference::equal_32),
      equal_share_column("equal_64", "64", &DecodedDifference::equal_64),
      equal_share_column("equal_128", "128", &DecodedDifference::equal_128),
      {{.key = "continuations", .title = "of prompts"}, [](const DecodedRow& row) -> Table::Cell {
         const std::int64_t prompts = std::ssize(row->decoded->equal_tokens);
         return prompts > 0 ? Table::Cell(prompts) : Table::Cell(Absent{});
       }}};
}

/// All were scored on the same data.
Table decoded_table(const std::vector<DecodedRow>& rows) {
  const Quality& quality = *rows.front()->quality;
  return filled<DecodedRow>(
      {.key = "decoded",
       .caption = "Quality of what was decoded, against fp32",
       .legend = fmt::format(
           "on {} ({}). KL: mean divergence of the next token's distribution; second half over first: in a window's "
           "second half, over the first without its first 16 positions, geometric mean over windows with its 95 % "
           "interval. tokens equal: greedy continuations of prompts from the text whose first so many ids are fp32's.",
           quality.quality_data.value_or("unnamed data"), quality.protocol.value_or("protocol not named"))},
      decoded_columns(), rows);
}

/// A stretch of positions of a row.
struct Stretch {
  DecodedRow row;
  std::size_t index = 0;
};

/// As the chart draws it.
Table position_table(const std::vector<DecodedRow>& rows) {
  std::vector<Stretch> stretches;
  for (const DecodedRow row : rows) {
    for (std::size_t i = 0; i < row->decoded->position_from.size(); ++i) stretches.push_back({row, i});
  }
  using StretchColumn = ColumnOf<Stretch>;
  const auto at = [](std::vector<double> DecodedDifference::*values) {
    return [values](const Stretch& one) -> Table::Cell { return ((*one.row->decoded).*values)[one.index]; };
  };
  constexpr auto label = Table::Role::label;
  const std::vector<StretchColumn> columns = {
      {{.key = "model", .role = label},
       [](const Stretch& one) -> Table::Cell { return shown_model_name(one.row->setting.model); }},
      {{.key = "precision", .role = label},
       [](const Stretch& one) -> Table::Cell { return one.row->setting.precision; }},
      {{.key = "from", .title = "tokens before", .notation = Notation::count, .role = label},
       at(&DecodedDifference::position_from)},
      {{.key = "kl", .title = "KL", .unit = "nats", .notation = Notation::scientific, .digits = 1},
       at(&DecodedDifference::kl_by_position)},
      {{.key = "top1", .title = "same top-1", .notation = Notation::percent, .digits = 1},
       at(&DecodedDifference::top1_by_position)}};
  return filled<Stretch>({.key = "decoded_by_position",
                          .caption = "Quality of what was decoded, by position in the window",
                          .legend = "each stretch of positions is as long as all before it",
                          .detail = Detail::details},
                         columns, stretches);
}

std::string growth_verdict(const DecodedDifference& decoded) {
  if (*decoded.kl_growth_low > 1) return "it grows with depth";
  if (*decoded.kl_growth_high < 1) return "it shrinks with depth";
  return "no growth with depth is to be seen";
}

std::vector<std::string> growth_sentences(const std::vector<DecodedRow>& rows) {
  std::vector<std::string> sentences;
  for (const DecodedRow row : rows) {
    const DecodedDifference& decoded = *row->decoded;
    if (!decoded.kl_growth || !decoded.kl_growth_low || !decoded.kl_growth_high) continue;
    sentences.push_back(fmt::format(
        "{}, {}: divergence from fp32 is {:.2f}x [{:.2f}, {:.2f}] as large in the second half of a window as in the "
        "first: {}.",
        shown_model_name(row->setting.model), row->setting.precision, *decoded.kl_growth, *decoded.kl_growth_low,
        *decoded.kl_growth_high, growth_verdict(decoded)));
  }
  return sentences;
}

/// A point stands at the first position of its stretch; that of position 0 at 1, as the scale is logarithmic.
Figure position_figure(const std::vector<DecodedRow>& rows) {
  Figure figure{
      .kind = FigureKind::lines,
      .key = "kl_by_position",
      .caption = "Divergence from fp32 over the position in the window",
      .legend =
          "a mark stands where a stretch of positions begins, each as long as all before it: the mean over it in all "
          "windows",
      .x = {.title = "tokens before", .scale = Figure::Scale::logarithmic},
      .y = {.title = "KL", .unit = "nats", .scale = Figure::Scale::logarithmic}};
  for (const DecodedRow row : rows) {
    const DecodedDifference& decoded = *row->decoded;
    Figure::Series series{.name = fmt::format("{} {}", shown_model_name(row->setting.model), row->setting.precision)};
    for (std::size_t i = 0; i < decoded.kl_by_position.size(); ++i) {
      if (decoded.kl_by_position[i] > 0)
        series.points.push_back({.x = std::max(decoded.position_from[i], 1.0), .y = decoded.kl_by_position[i]});
    }
    if (!series.points.empty()) figure.series.push_back(std::move(series));
  }
  return figure;
}

}  // namespace

void tell_decoded(Document& document) {
  const std::vector<DecodedRow> rows = decoded_rows(document.records);
  if (rows.empty()) return;
  document.tables.push_back(decoded_table(rows));
  if (Table table = position_table(rows); !table.rows.empty()) document.tables.push_back(std::move(table));
  if (std::vector<std::string> texts = growth_sentences(rows); !texts.empty())
    document.sentences.push_back({.key = "depth", .texts = std::move(texts)});
  Figure figure = position_figure(rows);
  if (!figure.series.empty()) document.figures.push_back(std::move(figure));
}

}  // namespace assay
