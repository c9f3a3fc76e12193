#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "studies/attention/run.h"
#include "studies/probe/run.h"

namespace assay {
namespace {

using AttentionPhase = std::optional<Summary> AttentionCell::*;

struct PhaseWords {
  AttentionPhase phase;
  std::string name;
  std::string short_name;
  double AttentionCell::*flops;
};
const PhaseWords forward_words = {&AttentionCell::forward, "forward", "fwd", &AttentionCell::forward_flops};
const PhaseWords backward_words = {&AttentionCell::backward, "backward", "bwd", &AttentionCell::backward_flops};

/// The cell's status, where it left no time.
Table::Cell if_timed(const AttentionCell& cell, AttentionPhase phase, Table::Cell (*value)(const Summary& summary)) {
  return cell.*phase ? value(*(cell.*phase)) : Table::Cell(Absent{cell.reason});
}

Table::Cell median_of(const Summary& summary) {
  if (!summary.interval) return summary.median;
  return Estimate{summary.median, summary.interval->low, summary.interval->high};
}

using AttentionColumns = std::vector<ColumnOf<AttentionCell>>;

void add_label_column(AttentionColumns& columns, const char* key, const char* title, Detail detail,
                      std::function<Table::Cell(const AttentionCell&)> cell) {
  columns.push_back({{.key = key, .title = title, .role = Table::Role::label, .detail = detail}, std::move(cell)});
}

void add_bytes_column(AttentionColumns& columns, const char* key, const char* title, const char* meaning,
                      std::function<Table::Cell(const AttentionCell&)> cell) {
  const Detail detail = *title == 0 ? Detail::data : Detail::brief;
  columns.push_back(
      {{.key = key, .title = title, .unit = "bytes", .meaning = meaning, .notation = Notation::bytes, .detail = detail},
       std::move(cell)});
}

void add_time(AttentionColumns& columns, const PhaseWords& words) {
  const std::string& name = words.name;
  const AttentionPhase phase = words.phase;
  columns.push_back({{.key = name + "_ms",
                      .title = name,
                      .unit = "ms",
                      .meaning = "median of the phase timed by itself, with its 95 % interval",
                      .more_keys = {name + "_ci_low_ms", name + "_ci_high_ms"}},
                     [phase](const AttentionCell& cell) { return if_timed(cell, phase, median_of); }});
  columns.push_back(
      {{.key = "mean_" + name + "_ms", .unit = "ms", .detail = Detail::data}, [phase](const AttentionCell& cell) {
         return if_timed(cell, phase, [](const Summary& s) { return Table::Cell(s.mean); });
       }});
  columns.push_back(
      {{.key = "std_" + name + "_ms", .unit = "ms", .detail = Detail::data}, [phase](const AttentionCell& cell) {
         return if_timed(cell, phase, [](const Summary& s) { return Table::Cell(s.standard_deviation); });
       }});
}

void add_rate(AttentionColumns& columns, const PhaseWords& words) {
  columns.push_back({{.key = words.name + "_gflops", .title = words.short_name, .unit = "GFLOP/s"},
                     [words](const AttentionCell& cell) -> Table::Cell {
                       if (!(cell.*words.phase)) return Absent{cell.reason};
                       return cell.*words.flops / (*(cell.*words.phase)).median * 1e-6;
                     }});
}

void add_flops(AttentionColumns& columns, const PhaseWords& words) {
  columns.push_back(
      {{.key = words.name + "_flops", .meaning = "without what a causal mask leaves out", .detail = Detail::data},
       [words](const AttentionCell& cell) -> Table::Cell { return cell.*words.flops; }});
}

AttentionColumns attention_columns() {
  using Cell = Table::Cell;
  constexpr auto brief = Detail::brief;
  constexpr auto data = Detail::data;
  AttentionColumns columns;
  add_label_column(columns, "method", "", brief, [](const AttentionCell& c) -> Cell { return name(c.shape.method); });
  add_label_column(columns, "precision", "", brief, [](const AttentionCell& c) -> Cell { return c.precision; });
  add_label_column(columns, "batch", "", data, [](const AttentionCell& c) -> Cell { return c.extent.batch; });
  add_label_column(columns, "heads", "", data, [](const AttentionCell& c) -> Cell { return c.shape.heads; });
  add_label_column(columns, "head_dim", "D", brief, [](const AttentionCell& c) -> Cell { return c.shape.head_dim; });
  add_label_column(columns, "seq", "T", brief, [](const AttentionCell& c) -> Cell { return c.extent.seq; });
  add_label_column(columns, "causal", "", data, [](const AttentionCell& c) -> Cell { return c.shape.causal; });
  columns.push_back({{.key = "status", .more_keys = {"reason"}},
                     [](const AttentionCell& c) -> Cell { return RowStatus{c.status, c.reason}; }});
  columns.push_back({{.key = "samples", .detail = data}, [](const AttentionCell& c) -> Cell {
                       return static_cast<std::int64_t>(c.forward ? c.forward->samples : 0);
                     }});
  add_time(columns, forward_words);
  add_bytes_column(columns, "saved_bytes", "", "saved for the backward",
                   [](const AttentionCell& c) -> Cell { return c.memory.saved_bytes; });
  add_bytes_column(columns, "before_backward_bytes", "held", "before the backward: q, k, v, y and what is saved for it",
                   [](const AttentionCell& c) -> Cell { return c.memory.before_backward_bytes; });
  add_time(columns, backward_words);
  add_bytes_column(columns, "peak_bytes", "peak", "of the whole step, gradients included",
                   [](const AttentionCell& c) -> Cell { return c.memory.peak_bytes; });
  add_bytes_column(columns, "available_bytes", "", "what there was, where peak_bytes did not fit",
                   [](const AttentionCell& c) { return or_absent(c.available_bytes); });
  add_flops(columns, forward_words);
  add_flops(columns, backward_words);
  add_rate(columns, forward_words);
  add_rate(columns, backward_words);
  return columns;
}

/// The two methods at one shape.
struct AttentionPair {
  const AttentionCell& naive;
  const AttentionCell& fused;
};
using PairColumns = std::vector<ColumnOf<AttentionPair>>;

std::optional<double> step_ms_of(const AttentionCell& cell) {
  if (!cell.forward || !cell.backward) return std::nullopt;
  return cell.forward->median + cell.backward->median;
}

void add_method(PairColumns& columns, AttentionMethod method) {
  const std::string of = name(method);
  const auto cell_of = [method](const AttentionPair& pair) -> const AttentionCell& {
    return method == AttentionMethod::naive ? pair.naive : pair.fused;
  };
  columns.push_back({{.key = of + "_ms", .title = of, .unit = "ms", .meaning = "forward and backward"},
                     [cell_of](const AttentionPair& pair) { return or_absent(step_ms_of(cell_of(pair))); }});
  const auto add_memory = [&](const char* key, const char* title, std::int64_t AttentionMemory::*bytes) {
    columns.push_back(
        {{.key = of + key, .title = of + title, .unit = "bytes", .notation = Notation::bytes},
         [cell_of, bytes](const AttentionPair& pair) -> Table::Cell { return cell_of(pair).memory.*bytes; }});
  };
  add_memory("_saved_bytes", " saved", &AttentionMemory::saved_bytes);
  add_memory("_peak_bytes", " peak", &AttentionMemory::peak_bytes);
}

/// What most readers ask: which method, and from which length on.
Table shapes_table(const AttentionResult& result) {
  constexpr auto label = Table::Role::label;
  PairColumns columns = {
      {{.key = "precision", .role = label}, [](const AttentionPair& p) -> Table::Cell { return p.naive.precision; }},
      {{.key = "head_dim", .title = "D", .role = label},
       [](const AttentionPair& p) -> Table::Cell { return p.naive.shape.head_dim; }},
      {{.key = "seq", .title = "T", .role = label},
       [](const AttentionPair& p) -> Table::Cell { return p.naive.extent.seq; }}};
  add_method(columns, AttentionMethod::naive);
  add_method(columns, AttentionMethod::fused);
  columns.push_back({{.key = "naive_over_fused", .title = "naive / fused", .notation = Notation::fixed, .digits = 2},
                     [](const AttentionPair& pair) -> Table::Cell {
                       const auto naive_ms = step_ms_of(pair.naive);
                       const auto fused_ms = step_ms_of(pair.fused);
                       if (!naive_ms || !fused_ms) return Absent{};
                       return *naive_ms / *fused_ms;
                     }});
  std::vector<AttentionPair> pairs;
  for (std::size_t i = 0; i + 1 < result.cells.size(); i += 2) pairs.push_back({result.cells[i], result.cells[i + 1]});
  return filled(
      {.key = "shapes", .caption = "Forward and backward together; saved for the backward; peak of the whole step"},
      columns, pairs);
}

std::string attention_title(const AttentionRequest& request, const AttentionResult& result) {
  const MachineFacts& facts = result.facts;
  const std::string machine =
      facts.gpu ? facts.gpu->name : fmt::format("{}, {} threads", facts.processor, facts.threads);
  return fmt::format("attention alone, batch {}, {} {}, {}; {}", request.batch, request.heads,
                     request.heads == 1 ? "head" : "heads", request.causal ? "causal" : "not causal", machine);
}

constexpr const char* attention_legend =
    "Median of each phase timed by itself, with its 95 % interval. held: memory before the backward (q, k, v, y and "
    "what is saved for the backward). peak: of the whole step, gradients included. FLOPs that a causal mask leaves out "
    "are not counted.";

/// A line for each method, precision and head_dim, over T.
Figure figure_over_length(const AttentionResult& result, const char* key, const Figure::Axis& y,
                          const std::function<std::optional<Figure::Point>(const AttentionCell&)>& point) {
  Figure figure{.kind = FigureKind::lines,
                .key = key,
                .caption = y.title + " over the length",
                .x = {.title = "T", .unit = "tokens", .scale = Figure::Scale::logarithmic},
                .y = y};
  figure.y.scale = Figure::Scale::logarithmic;
  for (const AttentionCell& cell : result.cells) {
    const std::optional<Figure::Point> one = point(cell);
    if (!one) continue;
    const std::string line = fmt::format("{}, {}, D {}", name(cell.shape.method), cell.precision, cell.shape.head_dim);
    auto series = std::find_if(figure.series.begin(), figure.series.end(),
                               [&](const Figure::Series& known) { return known.name == line; });
    if (series == figure.series.end()) series = figure.series.insert(series, {.name = line});
    series->points.push_back(*one);
  }
  return figure;
}

std::vector<Figure> attention_figures(const AttentionResult& result) {
  const auto time = [](const AttentionCell& cell) -> std::optional<Figure::Point> {
    const std::optional<double> ms = step_ms_of(cell);
    if (!ms) return std::nullopt;
    return Figure::Point{.x = static_cast<double>(cell.extent.seq), .y = *ms};
  };
  const auto held = [](const AttentionCell& cell) -> std::optional<Figure::Point> {
    return Figure::Point{.x = static_cast<double>(cell.extent.seq), .y = static_cast<double>(cell.memory.saved_bytes)};
  };
  return {figure_over_length(result, "time", {.title = "forward and backward", .unit = "ms"}, time),
          figure_over_length(result, "saved", {.title = "saved for the backward", .unit = "bytes"}, held)};
}

Table attention_methods(const AttentionRequest& request) {
  Table methods = Document{}.methods;
  const auto fact = [&](const char* key, const char* title, const char* unit, Table::Cell value) {
    add_fact(methods,
             {.key = key, .title = title, .unit = unit, .notation = Notation::exact, .detail = Detail::details},
             std::move(value));
  };
  fact("repetitions", "steps a cell, at most", "", std::int64_t{request.repetitions});
  fact("seconds", "budget a cell", "s", request.seconds);
  fact("seed", "seed of q, k, v, dy and of the order of rounds", "", request.seed);
  fact("interleaved", "methods of a shape by turns", "", true);
  return methods;
}

}  // namespace

Document attention(const AttentionRequest& request, const FactsSource& facts, const StudyCallbacks& callbacks) {
  GridDivision division = request.division;
  if (attention_part(division, request).is_empty()) return document_without_part(division, "assay-attention-1");
  const AttentionResult result = attention_cells(request, facts, callbacks);
  Document document{.subject = {.schema = "assay-attention-1", .title = attention_title(request, result)},
                    .machine = machine_json(result.facts),
                    .tables = {filled({.key = "cells", .legend = attention_legend, .detail = Detail::details},
                                      attention_columns(), result.cells),
                               shapes_table(result)},
                    .figures = attention_figures(result),
                    .sentences = {{.texts = attention_notes(result)}},
                    .methods = attention_methods(request)};
  for (const AttentionCell& cell : result.cells) {
    if (cell.forward) document.records.push_back(cell.forward_record);
    if (cell.backward) document.records.push_back(cell.backward_record);
  }
  return document;
}

}  // namespace assay
