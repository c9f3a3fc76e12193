#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "studies/probe/run.h"
#include "studies/sensitivity/run.h"
#include "studies/sensitivity/words.h"

namespace assay {
namespace {

/// A row of the tables: a unit in a precision of a model.
struct ChartLine {
  const ModelSensitivity* study = nullptr;
  const UnitRow* row = nullptr;
};
using ChartLines = std::vector<ChartLine>;
using Columns = std::vector<ColumnOf<ChartLine>>;
using TableCell = Table::Cell;

ChartLines all_lines(const std::vector<ModelSensitivity>& studies) {
  ChartLines lines;
  for (const ModelSensitivity& study : studies) {
    for (const UnitRow& row : study.rows_by_unit) lines.push_back({&study, &row});
  }
  return lines;
}

TableCell cell_for(const std::optional<Change>& change, const std::string& reason) {
  if (!change) return Absent{reason};
  if (!change->interval) return change->value;
  return Estimate{change->value, change->interval->low, change->interval->high};
}

using QualityPart = std::optional<UnitQuality> UnitRow::*;
using QualityFigure = std::function<std::optional<Change>(const UnitQuality&)>;

TableCell quality_cell(const ChartLine& line, QualityPart part, const QualityFigure& figure) {
  const std::optional<UnitQuality>& quality = line.row->*part;
  if (!quality) {
    const bool impossible = part == &UnitRow::all_but && line.row->unit.kind == UnitKind::whole;
    return Absent{impossible ? "" : "not reached"};
  }
  if (!quality->failure.empty()) return Absent{quality->failure};
  return cell_for(figure(*quality), "no labels");
}

void add_quality(Columns& columns, const std::string& prefix, const std::string& words, QualityPart part) {
  struct Figure {
    const char* key;
    const char* title;
    const char* unit;
    const char* meaning;
    Sign sign;
    QualityFigure value;
  };
  const Figure figures[] = {{"kl", "KL", "nats", "mean of KL(fp32 || this)", Sign::negative,
                             [](const UnitQuality& q) -> std::optional<Change> { return q.kl; }},
                            {"delta_nll", "loss", "nats", "mean loss less fp32's on the same rows", Sign::always,
                             [](const UnitQuality& q) { return q.delta_nll; }},
                            {"accuracy_change", "accuracy", "", "share of labels that are right, less fp32's",
                             Sign::always, [](const UnitQuality& q) { return q.accuracy_change; }}};
  for (const Figure& figure : figures) {
    const std::string key = fmt::format("{}_{}", prefix, figure.key);
    Table::Column column{.key = key,
                         .title = fmt::format("{} {}", figure.title, words),
                         .unit = figure.unit,
                         .meaning = figure.meaning,
                         .notation = Notation::general,
                         .digits = 2,
                         .sign = figure.sign,
                         .more_keys = {key + "_low", key + "_high"}};
    columns.push_back(
        {std::move(column), [part, figure](const ChartLine& line) { return quality_cell(line, part, figure.value); }});
  }
}

/// A figure of an optional part of a row.
template <typename Part, typename Get>
void add_part(Columns& columns, Table::Column column, std::optional<Part> UnitRow::*part, Get get) {
  columns.push_back({std::move(column), [part, get](const ChartLine& line) -> TableCell {
                       const std::optional<Part>& value = line.row->*part;
                       return value ? TableCell(get(*value)) : TableCell(Absent{});
                     }});
}

void add_key_columns(Columns& columns) {
  constexpr auto label = Table::Role::label;
  columns.push_back(
      {{.key = "model", .role = label}, [](const ChartLine& line) -> TableCell { return line.study->model; }});
  columns.push_back(
      {{.key = "precision", .role = label}, [](const ChartLine& line) -> TableCell { return line.row->precision; }});
  columns.push_back(
      {{.key = "unit", .role = label}, [](const ChartLine& line) -> TableCell { return line.row->unit.name; }});
}

void add_places(Columns& columns) {
  columns.push_back({{.key = "kind"}, [](const ChartLine& line) -> TableCell { return name(line.row->unit.kind); }});
  columns.push_back(
      {{.key = "role"}, [](const ChartLine& line) -> TableCell { return text_or_absent(line.row->unit.role); }});
  columns.push_back(
      {{.key = "block"}, [](const ChartLine& line) -> TableCell { return or_absent(line.row->unit.block); }});
  columns.push_back({{.key = "depth", .meaning = "place among the operations, 0 to 1"},
                     [](const ChartLine& line) -> TableCell { return line.row->unit.depth; }});
}

double share_of_time(const ChartLine& line) {
  const UnitRow* whole = line.study->find("everything", line.row->precision);
  return whole == nullptr || !whole->cost ? 0 : line.row->cost->fp32_ms / whole->cost->fp32_ms;
}

void add_share_of_time(Columns& columns) {
  columns.push_back({{.key = "time_share",
                      .title = "time",
                      .meaning = "share of fp32's run, each operation by the clock around it",
                      .notation = Notation::percent,
                      .digits = 1},
                     [](const ChartLine& line) -> TableCell {
                       if (!line.row->cost) return Absent{"not timed"};
                       return share_of_time(line);
                     }});
}

void add_costs(Columns& columns) {
  const auto cost = &UnitRow::cost;
  add_part(columns, {.key = "fp32_ms", .unit = "ms"}, cost, [](const UnitCost& c) { return c.fp32_ms; });
  add_part(columns, {.key = "low_ms", .unit = "ms", .meaning = "with everything in the precision"}, cost,
           [](const UnitCost& c) { return c.low_ms; });
  const auto bytes = [](const char* key, const char* meaning) {
    return Table::Column{.key = key, .unit = "bytes", .meaning = meaning, .notation = Notation::bytes};
  };
  add_part(columns, bytes("fp32_bytes", "weights as stored"), cost, [](const UnitCost& c) { return c.fp32_bytes; });
  add_part(columns, bytes("low_bytes", "weights as stored in the precision"), cost,
           [](const UnitCost& c) { return c.low_bytes; });
  add_part(columns, bytes("read_bytes", "read and written by a run in the precision"), cost,
           [](const UnitCost& c) { return c.read_bytes; });
}

void add_snr(Columns& columns) {
  columns.push_back({{.key = "snr_db",
                      .title = "signal to noise",
                      .unit = "dB",
                      .meaning = "of the layer's output on what reaches it in fp32",
                      .notation = Notation::fixed,
                      .digits = 1},
                     [](const ChartLine& line) -> TableCell {
                       if (!line.row->error) return Absent{};
                       return or_absent(line.row->error->snr_db, "exact");
                     }});
}

void add_errors(Columns& columns) {
  columns.push_back({{.key = "weight_snr_db", .unit = "dB", .meaning = "of its weight as stored"},
                     [](const ChartLine& line) -> TableCell {
                       return line.row->error ? or_absent(line.row->error->weight_snr_db, "exact")
                                              : TableCell(Absent{});
                     }});
  add_part(columns, {.key = "kurtosis", .meaning = "of its input; 3 for normal numbers"}, &UnitRow::error,
           [](const LayerError& e) { return e.kurtosis; });
  add_part(columns, {.key = "largest_over_rms", .meaning = "of its input"}, &UnitRow::error,
           [](const LayerError& e) { return e.largest_over_rms; });
  const auto estimate = &UnitRow::estimate;
  add_part(columns,
           {.key = "first_order",
            .unit = "nats",
            .meaning = "gradient times weight error: change of the loss",
            .notation = Notation::general,
            .sign = Sign::always},
           estimate, [](const GradientEstimate& e) { return e.first_order; });
  add_part(columns,
           {.key = "fisher",
            .unit = "nats",
            .meaning = "half the squared weight error in the diagonal empirical Fisher metric: KL",
            .notation = Notation::general},
           estimate, [](const GradientEstimate& e) { return e.fisher; });
  const auto energy = &UnitRow::energy;
  add_part(columns, {.key = "energy_j", .unit = "J", .meaning = "of a run of it alone in the precision"}, energy,
           [](const Joules& j) { return j.value; });
  add_part(columns, {.key = "energy_uncertainty_j", .unit = "J"}, energy,
           [](const Joules& j) { return j.uncertainty; });
}

/// The whole and the roles, then the layers that cost most alone.
ChartLines brief_lines(const ModelSensitivity& study) {
  constexpr std::size_t most_layers = 8;
  ChartLines lines;
  for (const std::string& precision : precisions_of(study)) {
    for (const UnitRow& row : study.rows_by_unit) {
      const bool is_shown = row.unit.kind == UnitKind::whole || row.unit.kind == UnitKind::role;
      if (row.precision == precision && is_shown) lines.push_back({&study, &row});
    }
    const std::vector<const UnitRow*> layers = ranked(study, precision);
    for (std::size_t i = 0; i < std::min(most_layers, layers.size()); ++i) lines.push_back({&study, layers[i]});
  }
  return lines;
}

Table brief_table(const ModelSensitivity& study, std::size_t number) {
  Columns columns;
  columns.push_back({{.key = "precision", .role = Table::Role::label},
                     [](const ChartLine& line) -> TableCell { return line.row->precision; }});
  columns.push_back({{.key = "unit", .role = Table::Role::label},
                     [](const ChartLine& line) -> TableCell { return line.row->unit.name; }});
  Columns alone;
  add_quality(alone, "only", "alone", &UnitRow::only);
  columns.push_back(alone[0]);
  const bool classifies = study.task == name(Task::classification);
  if (study.has_labels) columns.push_back(alone[classifies ? 2 : 1]);
  Columns but;
  add_quality(but, "but", "all but it", &UnitRow::all_but);
  columns.push_back(but[0]);
  add_share_of_time(columns);
  add_snr(columns);
  Table table{.key = fmt::format("most_sensitive.{}", number),
              .caption = fmt::format("{}: the roles, and the layers that cost most alone", study.model),
              .legend = "@role: all of its operations. Every unit stands in the files, and under --details."};
  return filled(std::move(table), columns, brief_lines(study));
}

Table models_table(const std::vector<ModelSensitivity>& studies) {
  using Study = ModelSensitivity;
  const std::vector<ColumnOf<Study>> columns = {
      {{.key = "model", .role = Table::Role::label}, [](const Study& s) -> TableCell { return s.model; }},
      {{.key = "task"}, [](const Study& s) -> TableCell { return s.task; }},
      {{.key = "data"}, [](const Study& s) -> TableCell { return s.data; }},
      {{.key = "protocol", .detail = Detail::details}, [](const Study& s) -> TableCell { return s.protocol; }},
      {{.key = "batches", .notation = Notation::count}, [](const Study& s) -> TableCell { return s.batches; }},
      {{.key = "rows", .notation = Notation::count}, [](const Study& s) -> TableCell { return s.rows; }},
      {{.key = "tokens", .notation = Notation::count}, [](const Study& s) -> TableCell { return s.tokens; }},
      {{.key = "predicted_s", .title = "predicted", .unit = "s"},
       [](const Study& s) -> TableCell { return s.predicted_s; }},
      {{.key = "took_s", .title = "took", .unit = "s"}, [](const Study& s) -> TableCell { return s.took_s; }},
      {{.key = "restored", .detail = Detail::data}, [](const Study& s) -> TableCell { return s.restored; }},
      {{.key = "partial", .detail = Detail::data}, [](const Study& s) -> TableCell { return s.is_partial; }},
      {{.key = "gradient_rows", .detail = Detail::details},
       [](const Study& s) -> TableCell { return s.gradient_rows; }},
      {{.key = "energy_meter", .detail = Detail::details}, [](const Study& s) -> TableCell { return s.energy_words; }},
      {{.key = "identity", .detail = Detail::data}, [](const Study& s) -> TableCell { return s.identity; }}};
  return filled({.key = "models", .caption = "What was scored"}, columns, studies);
}

}  // namespace

Table units_table(const std::vector<ModelSensitivity>& studies) {
  Columns columns;
  add_key_columns(columns);
  add_places(columns);
  add_quality(columns, "only", "alone", &UnitRow::only);
  add_quality(columns, "but", "all but it", &UnitRow::all_but);
  add_share_of_time(columns);
  add_costs(columns);
  add_snr(columns);
  add_errors(columns);
  return filled({.key = "units", .caption = "Every unit", .detail = Detail::details}, columns, all_lines(studies));
}

Document to_document(const std::vector<ModelSensitivity>& studies, const MachineFacts& facts) {
  Document document{.subject = {.schema = "assay-sensitivity-1", .title = "Which layers can bear it"},
                    .machine = machine_json(facts)};
  std::vector<std::string> texts;
  document.tables.push_back(models_table(studies));
  for (std::size_t i = 0; i < studies.size(); ++i) {
    document.tables.push_back(brief_table(studies[i], i));
    for (std::string& text : sentences_of(studies[i])) texts.push_back(std::move(text));
  }
  for (auto* const more : {relation_sentences, sentences_between}) {
    for (std::string& text : more(studies)) texts.push_back(std::move(text));
  }
  document.tables.push_back(correlations_table(studies));
  document.tables.push_back(units_table(studies));
  document.figures = figures_of(studies);
  document.sentences.push_back({.texts = std::move(texts)});
  return document;
}

}  // namespace assay
