#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "base/units.h"
#include "results/json_places.h"
#include "results/model_name.h"
#include "studies/memory/ranks.h"
#include "studies/memory/run.h"
#include "studies/probe/run.h"

namespace assay {
namespace {

using MemoryColumns = std::vector<ColumnOf<MemoryCell>>;
using BytesOfCell = std::function<std::int64_t(const MemoryCell& cell)>;

std::string shown_bytes(std::int64_t bytes) {
  return format_bytes(static_cast<double>(bytes));
}

std::string title_of(const MemoryCell& cell) {
  const std::string step = words(cell.step);
  return fmt::format("{} {}, {} x {}, {}{}recompute {}", cell.model, cell.precision, cell.extent.batch, cell.extent.seq,
                     step, step.empty() ? "" : ", ", name(cell.step.recompute));
}

bool is_predicted(const MemoryCell& cell) {
  return cell.fits != Fits::unsupported;
}

const char* fits_word(Fits fits) {
  constexpr const char* words[] = {"fits", "oom", "unsupported"};
  return words[static_cast<std::size_t>(fits)];
}

void add_label(MemoryColumns& columns, Table::Column column, std::function<Table::Cell(const MemoryCell&)> cell) {
  column.role = Table::Role::label;
  columns.push_back({std::move(column), std::move(cell)});
}

/// Of cells that are predicted; the others say why they are not.
void add_bytes(MemoryColumns& columns, Table::Column column, BytesOfCell bytes) {
  column.unit = "bytes";
  column.notation = Notation::bytes;
  columns.push_back({std::move(column), [bytes = std::move(bytes)](const MemoryCell& cell) -> Table::Cell {
                       if (!is_predicted(cell)) return Absent{cell.reason};
                       return bytes(cell);
                     }});
}

void add_held(MemoryColumns& columns) {
  constexpr const char* titles[held_kinds] = {"weights", "packed", "grads",  "optim", "cache",
                                              "saved",   "temps",  "wspace", "gaps"};
  for (std::size_t kind = 0; kind < held_kinds; ++kind) {
    const char* what = name(static_cast<Held>(kind));
    add_bytes(columns,
              {.key = std::string("held_bytes.") + what,
               .title = titles[kind],
               .meaning = std::string(what) + ", at the peak"},
              [kind](const MemoryCell& cell) { return cell.held[kind]; });
  }
}

void add_sums(MemoryColumns& columns, Detail of_training) {
  add_bytes(columns, {.key = "total_bytes", .meaning = "while it runs", .detail = Detail::data},
            [](const MemoryCell& cell) { return cell.total_bytes; });
  add_bytes(columns, {.key = "loading_bytes", .meaning = "while weights are read and packed", .detail = Detail::data},
            [](const MemoryCell& cell) { return cell.loading_bytes; });
  add_bytes(columns, {.key = "peak_bytes", .title = "peak", .meaning = "the larger of loading and running"},
            [](const MemoryCell& cell) { return cell.peak_bytes(); });
  add_bytes(columns, {.key = "arena_bytes", .detail = Detail::data},
            [](const MemoryCell& cell) { return cell.arena_bytes; });
  add_bytes(columns,
            {.key = "residual_bytes",
             .title = "residual",
             .meaning = "the residual stream, (B, T, d_model)",
             .detail = Detail::details},
            [](const MemoryCell& cell) { return cell.residual_bytes; });
  add_bytes(columns,
            {.key = "floor_bytes",
             .title = "floor",
             .meaning = "weights, gradients, optimizer, cache, saved for backward: no layout needs less",
             .detail = of_training},
            [](const MemoryCell& cell) { return cell.floor_bytes(); });
  columns.push_back({{.key = "peak_over_floor", .title = "peak / floor", .digits = 4, .detail = of_training},
                     [](const MemoryCell& cell) -> Table::Cell {
                       if (!is_predicted(cell)) return Absent{cell.reason};
                       return static_cast<double>(cell.peak_bytes()) / static_cast<double>(cell.floor_bytes());
                     }});
  add_bytes(columns, {.key = "saved_for_backward_bytes", .meaning = "when the forward ends", .detail = Detail::data},
            [](const MemoryCell& cell) { return cell.saved_bytes; });
}

void add_largest(MemoryColumns& columns) {
  const auto text = [&](const char* key, std::string Allocation::*member) {
    columns.push_back({{.key = key, .detail = Detail::data}, [member](const MemoryCell& cell) -> Table::Cell {
                         if (!is_predicted(cell)) return Absent{cell.reason};
                         return cell.largest.*member;
                       }});
  };
  text("largest.name", &Allocation::name);
  text("largest.operation", &Allocation::operation);
  text("largest.path", &Allocation::path);
  add_bytes(columns, {.key = "largest.bytes", .detail = Detail::data},
            [](const MemoryCell& cell) { return cell.largest.bytes; });
}

void add_measured(MemoryColumns& columns, Detail detail) {
  const auto add = [&](Table::Column column, std::function<Table::Cell(const MemoryCell&)> value) {
    column.detail = column.title.empty() ? Detail::data : detail;
    columns.push_back({std::move(column), [value = std::move(value)](const MemoryCell& cell) -> Table::Cell {
                         return cell.measured ? value(cell) : Table::Cell(Absent{cell.fault});
                       }});
  };
  add({.key = "measured.resident_bytes", .unit = "bytes", .notation = Notation::bytes},
      [](const MemoryCell& cell) -> Table::Cell { return cell.measured->resident_bytes; });
  add({.key = "measured.program_bytes",
       .title = "program",
       .unit = "bytes",
       .meaning = "resident before the model was opened",
       .notation = Notation::bytes},
      [](const MemoryCell& cell) -> Table::Cell { return cell.measured->program_bytes; });
  add({.key = "measured.model_bytes",
       .title = "measured",
       .unit = "bytes",
       .meaning = "the most that the model added to the program, in a process of its own",
       .notation = Notation::bytes},
      [](const MemoryCell& cell) -> Table::Cell {
        return cell.measured->resident_bytes - cell.measured->program_bytes;
      });
  add({.key = "measured.predicted_over_measured", .title = "predicted / measured", .digits = 4},
      [](const MemoryCell& cell) -> Table::Cell { return cell.measured->agreement(cell.peak_bytes()); });
  columns.push_back({{.key = "measured.fault", .detail = Detail::data}, [](const MemoryCell& cell) -> Table::Cell {
                       return cell.fault.empty() ? Table::Cell(Absent{}) : Table::Cell(cell.fault);
                     }});
}

MemoryColumns memory_columns(const MemoryRequest& request, const MemoryStudy& study) {
  const Detail of_models = study.has_models() ? Detail::brief : Detail::data;
  const Detail of_training = request.mode == RunMode::train ? Detail::details : Detail::data;
  MemoryColumns columns;
  add_label(columns, {.key = "model", .detail = of_models}, [](const MemoryCell& c) -> Table::Cell { return c.model; });
  add_label(columns, {.key = "parameters", .notation = Notation::count, .detail = of_models},
            [](const MemoryCell& c) -> Table::Cell { return c.parameters; });
  add_label(columns, {.key = "precision"}, [](const MemoryCell& c) -> Table::Cell { return c.precision; });
  add_label(columns, {.key = "batch", .title = "B"}, [](const MemoryCell& c) -> Table::Cell { return c.extent.batch; });
  add_label(columns, {.key = "seq", .title = "T"}, [](const MemoryCell& c) -> Table::Cell { return c.extent.seq; });
  add_label(columns, {.key = "recompute", .detail = request.mode == RunMode::train ? Detail::brief : Detail::data},
            [](const MemoryCell& c) -> Table::Cell { return name(c.step.recompute); });
  const bool has_steps =
      std::any_of(study.cells.begin(), study.cells.end(), [](const MemoryCell& c) { return !words(c.step).empty(); });
  add_label(columns, {.key = "step", .detail = has_steps ? Detail::brief : Detail::data},
            [](const MemoryCell& c) -> Table::Cell { return words(c.step); });
  add_held(columns);
  add_sums(columns, of_training);
  columns.push_back({{.key = "status"}, [](const MemoryCell& c) -> Table::Cell { return fits_word(c.fits); }});
  columns.push_back(
      {{.key = "reason", .detail = Detail::data}, [](const MemoryCell& c) -> Table::Cell { return c.reason; }});
  add_largest(columns);
  add_measured(columns, request.measure == Measure::yes ? Detail::brief : Detail::data);
  return columns;
}

Table named_table(std::string key, const MemoryCell& cell, const char* what, const std::vector<NamedBytes>& list) {
  const std::vector<ColumnOf<NamedBytes>> columns = {
      {{.key = "name", .role = Table::Role::label}, [](const NamedBytes& one) -> Table::Cell { return one.name; }},
      {{.key = "bytes", .unit = "bytes", .notation = Notation::bytes},
       [](const NamedBytes& one) -> Table::Cell { return one.bytes; }},
      {{.key = "values", .notation = Notation::count},
       [](const NamedBytes& one) -> Table::Cell { return one.values; }}};
  return filled({.key = std::move(key), .caption = fmt::format("{}: saved for backward by {}", title_of(cell), what)},
                columns, list);
}

Table timeline_table(std::string key, const MemoryCell& cell) {
  std::vector<ColumnOf<MemoryMoment>> columns;
  const auto text = [&](const char* of, std::string MemoryMoment::*member) {
    columns.push_back({{.key = of, .role = Table::Role::label},
                       [member](const MemoryMoment& moment) -> Table::Cell { return moment.*member; }});
  };
  const auto bytes = [&](const char* of, std::int64_t MemoryMoment::*member) {
    columns.push_back({{.key = of, .unit = "bytes", .notation = Notation::bytes},
                       [member](const MemoryMoment& moment) -> Table::Cell { return moment.*member; }});
  };
  text("phase", &MemoryMoment::phase);
  text("operation", &MemoryMoment::operation);
  text("path", &MemoryMoment::path);
  bytes("live_bytes", &MemoryMoment::live_bytes);
  bytes("saved_bytes", &MemoryMoment::saved_bytes);
  bytes("workspace_bytes", &MemoryMoment::workspace_bytes);
  return filled({.key = std::move(key), .caption = title_of(cell) + ": step by step", .detail = Detail::data}, columns,
                cell.timeline);
}

/// The longest sequence of the first model in the first precision as it is, and with whatever is computed again: the
/// one that is shown at length. Null where none is predicted.
const MemoryCell* longest_cell(const MemoryStudy& study) {
  const MemoryCell* longest = nullptr;
  for (const MemoryCell& cell : study.cells) {
    const MemoryCell& first = study.cells.front();
    const bool is_like_first =
        cell.model == first.model && cell.precision == first.precision && cell.step == first.step;
    if (is_like_first && is_predicted(cell) && (longest == nullptr || cell.extent.seq > longest->extent.seq))
      longest = &cell;
  }
  return longest;
}

std::vector<Table> memory_tables(const MemoryRequest& request, const MemoryStudy& study) {
  std::vector<Table> tables = {filled({.key = "cells"}, memory_columns(request, study), study.cells)};
  for (std::size_t i = 0; i < study.cells.size(); ++i) {
    const MemoryCell& cell = study.cells[i];
    if (!is_predicted(cell)) continue;
    const std::string key = fmt::format("cells.{}.", i);
    const bool is_told = &cell == longest_cell(study) && cell.saved_bytes > 0;
    for (Table table :
         {named_table(key + "saved_by_block", cell, "block", cell.saved_by_block),
          named_table(key + "saved_by_operation", cell, "the operation that made it", cell.saved_by_operation)}) {
      table.detail = is_told ? Detail::details : Detail::data;
      tables.push_back(std::move(table));
    }
    tables.push_back(timeline_table(key + "timeline", cell));
  }
  return tables;
}

/// What is stacked, from below.
struct MemoryBand {
  const char* name;
  std::int64_t (*bytes)(const MemoryCell& cell, const MemoryMoment& moment);
};
constexpr MemoryBand memory_bands[] = {
    {"weights, copies, gradients, optimizer, cache",
     [](const MemoryCell& cell, const MemoryMoment&) { return cell.persistent_bytes(); }},
    {"saved for backward", [](const MemoryCell&, const MemoryMoment& m) { return m.saved_bytes; }},
    {"temporaries", [](const MemoryCell&, const MemoryMoment& m) { return m.live_bytes - m.saved_bytes; }},
    {"workspace", [](const MemoryCell&, const MemoryMoment& m) { return m.workspace_bytes; }},
};

Figure::Series band_of(const MemoryCell& cell, const MemoryBand& band) {
  Figure::Series series{.name = band.name};
  for (const MemoryMoment& moment : cell.timeline) {
    const bool begins_phase = &moment == &cell.timeline.front() || moment.phase != (&moment - 1)->phase;
    series.points.push_back({.x = static_cast<double>(series.points.size()),
                             .y = static_cast<double>(band.bytes(cell, moment)),
                             .label = begins_phase ? moment.phase : ""});
  }
  return series;
}

std::vector<Figure> figures_of(const MemoryStudy& study) {
  std::vector<Figure> figures;
  for (std::size_t i = 0; i < study.cells.size(); ++i) {
    const MemoryCell& cell = study.cells[i];
    if (!is_predicted(cell) || cell.timeline.empty()) continue;
    Figure figure{.kind = FigureKind::timeline,
                  .key = fmt::format("timeline_{}", i),
                  .caption = fmt::format("{}: {}", title_of(cell),
                                         cell.reason.empty() ? shown_bytes(cell.peak_bytes()) : cell.reason),
                  .x = {.title = "step"},
                  .y = {.title = "held", .unit = "bytes"}};
    for (const MemoryBand& band : memory_bands) figure.series.push_back(band_of(cell, band));
    figures.push_back(std::move(figure));
  }
  return figures;
}

std::vector<std::string> sentences_on(const MemoryCell& cell) {
  std::vector<std::string> texts;
  const auto most = std::max_element(cell.timeline.begin(), cell.timeline.end(),
                                     [](const auto& a, const auto& b) { return a.live_bytes < b.live_bytes; });
  if (most != cell.timeline.end()) {
    texts.push_back(fmt::format("{}: most at {} {} ({}): {} of buffers beside {} that stay.", title_of(cell),
                                most->phase, most->operation, most->path, shown_bytes(most->live_bytes),
                                shown_bytes(cell.persistent_bytes())));
  }
  if (const std::int64_t cache = cell.held[static_cast<std::size_t>(Held::cache)]; cache > 0) {
    texts.push_back(fmt::format("Its keys and values, {} x {} tokens: {}, {} a token.", cell.extent.batch,
                                cell.extent.seq, shown_bytes(cache),
                                shown_bytes(cache / (cell.extent.batch * cell.extent.seq))));
  } else {
    texts.push_back(fmt::format("Its residual stream, {} x {} x d_model: {}.", cell.extent.batch, cell.extent.seq,
                                shown_bytes(cell.residual_bytes)));
  }
  texts.push_back(fmt::format("Its largest single allocation: {}, {} ({}, {}).", shown_bytes(cell.largest.bytes),
                              cell.largest.name, cell.largest.operation, cell.largest.path));
  if (cell.loading_bytes > cell.total_bytes) {
    texts.push_back(fmt::format("Its peak is that of loading and packing, {}; running needs {}.",
                                shown_bytes(cell.loading_bytes), shown_bytes(cell.total_bytes)));
  }
  if (cell.saved_bytes > 0)
    texts.push_back(fmt::format("Saved for backward when its forward ends: {}.", shown_bytes(cell.saved_bytes)));
  return texts;
}

/// Cells beside the same one with nothing computed again.
std::vector<std::string> sentences_on_recomputation(const MemoryStudy& study) {
  std::vector<std::string> texts;
  std::string in_vain;
  for (const MemoryCell& cell : study.cells) {
    if (cell.step.recompute == Recompute::none || !is_predicted(cell)) continue;
    const auto plain = std::find_if(study.cells.begin(), study.cells.end(), [&](const MemoryCell& other) {
      StepVariant kept = cell.step;
      kept.recompute = Recompute::none;
      return other.step == kept && other.model == cell.model && other.precision == cell.precision &&
             other.extent.seq == cell.extent.seq;
    });
    if (plain == study.cells.end() || plain->saved_bytes == 0) continue;
    if (cell.saved_bytes == plain->saved_bytes) {
      in_vain += (in_vain.empty() ? "" : "; ") + title_of(cell);
      continue;
    }
    texts.push_back(
        fmt::format("{} {}, {} x {}: recomputing {} saves {} of {} saved for backward; peak {} instead of "
                    "{}.",
                    cell.model, cell.precision, cell.extent.batch, cell.extent.seq, name(cell.step.recompute),
                    shown_bytes(plain->saved_bytes - cell.saved_bytes), shown_bytes(plain->saved_bytes),
                    shown_bytes(cell.peak_bytes()), shown_bytes(plain->peak_bytes())));
  }
  if (!in_vain.empty())
    texts.push_back("Nothing is saved, since nothing of what is computed again would have been kept: " + in_vain + ".");
  return texts;
}

/// The peaks of two cells that differ in nothing but one size.
std::string growth_words(const MemoryCell& less, const MemoryCell& more, double size_ratio) {
  const double ratio = static_cast<double>(more.peak_bytes()) / static_cast<double>(less.peak_bytes());
  return fmt::format("the peak from {} to {}, {}x, as size^{:.2f}", shown_bytes(less.peak_bytes()),
                     shown_bytes(more.peak_bytes()), format_significant(ratio), std::log(ratio) / std::log(size_ratio));
}

/// The cells that are like `cell` but for what `is_alike` leaves open: the first and the last of them.
using MemoryEnds = std::pair<const MemoryCell*, const MemoryCell*>;
MemoryEnds ends_of(const MemoryStudy& study, const std::function<bool(const MemoryCell&)>& is_alike) {
  MemoryEnds ends = {nullptr, nullptr};
  for (const MemoryCell& cell : study.cells) {
    if (!is_predicted(cell) || !is_alike(cell)) continue;
    if (ends.first == nullptr) ends.first = &cell;
    ends.second = &cell;
  }
  return ends;
}

/// How peaks grow over lengths and over models, a sentence for each row of the table that begins such a line.
std::vector<std::string> sentences_on_growth(const MemoryStudy& study) {
  std::vector<std::string> texts;
  for (const MemoryCell& cell : study.cells) {
    const auto is_same_way = [&](const MemoryCell& other) {
      return other.precision == cell.precision && other.step == cell.step;
    };
    const auto [shortest, longest] =
        ends_of(study, [&](const MemoryCell& o) { return is_same_way(o) && o.model == cell.model; });
    if (shortest == &cell && longest->extent.seq > cell.extent.seq) {
      const double ratio = static_cast<double>(longest->extent.seq) / static_cast<double>(cell.extent.seq);
      texts.push_back(fmt::format("{} {}, recompute {}: {} to {} tokens take {}.", cell.model, cell.precision,
                                  name(cell.step.recompute), cell.extent.seq, longest->extent.seq,
                                  growth_words(cell, *longest, ratio)));
    }
    const auto [first, last] =
        ends_of(study, [&](const MemoryCell& o) { return is_same_way(o) && o.extent.seq == cell.extent.seq; });
    if (first == &cell && last->parameters > cell.parameters) {
      const double ratio = static_cast<double>(last->parameters) / static_cast<double>(cell.parameters);
      texts.push_back(fmt::format("{}, {} tokens, recompute {}: from {} to {}, {}x the parameters, takes {}.",
                                  cell.precision, cell.extent.seq, name(cell.step.recompute), cell.model, last->model,
                                  format_significant(ratio), growth_words(cell, *last, ratio)));
    }
  }
  return texts;
}

Table memory_facts(const MemoryStudy& study) {
  Table facts = Document{}.subject.facts;
  add_fact(facts, {.key = "model", .detail = Detail::data}, study.model);
  const Table::Column parameters{.key = "parameters", .notation = Notation::count};
  if (study.has_models()) {
    add_fact(facts, parameters, Absent{"of each model its own"});
  } else {
    add_fact(facts, parameters, study.parameters);
    const Table::Column active{.key = "active_parameters", .title = "active a token", .notation = Notation::count};
    if (study.active_parameters != study.parameters) add_fact(facts, active, study.active_parameters);
  }
  add_fact(facts, {.key = "mode", .detail = Detail::data}, name(study.mode));
  add_fact(facts, {.key = "available_bytes", .title = "memory available", .unit = "bytes", .notation = Notation::bytes},
           study.available_bytes);
  return facts;
}

Table memory_methods(const MemoryRequest& request) {
  Table methods = Document{}.methods;
  add_fact(methods, {.key = "prediction", .detail = Detail::details},
           "from the layouts of the plans: no weight is read, no buffer allocated");
  if (request.measure == Measure::yes)
    add_fact(methods, {.key = "measurement", .detail = Detail::details},
             "peak resident set of a process of its own for each row");
  return methods;
}

/// One study's cells behind the other's.
void append_cells(MemoryStudy& all, MemoryStudy more) {
  all.model += ", " + more.model;
  std::move(more.cells.begin(), more.cells.end(), std::back_inserter(all.cells));
}

/// Optimizers that were asked for stand at their rows.
const char* what_runs(const MemoryRequest& request) {
  switch (request.mode) {
    case RunMode::infer:
      return "a forward pass";
    case RunMode::train:
      return request.step.optimizers.empty() ? "a training step with AdamW" : "a training step";
    case RunMode::generate:
      return "generation through a cache";
  }
  return "?";
}

Document document_of(const MemoryStudy& study, const MemoryRequest& request, const MachineFacts& facts) {
  Document document{
      .subject = {.schema = "assay-memory-1",
                  .title = fmt::format("memory of {}, {}", shown_model_name(study.model), what_runs(request)),
                  .facts = memory_facts(study)},
      .machine = machine_json(facts),
      .tables = memory_tables(request, study),
      .figures = figures_of(study),
      .methods = memory_methods(request)};
  if (const MemoryCell* cell = longest_cell(study)) document.sentences.push_back({.texts = sentences_on(*cell)});
  document.sentences.push_back({.key = "recomputation",
                                .texts = sentences_on_recomputation(study),
                                .title = "What computing again saves",
                                .detail = request.step.recomputes.empty() ? Detail::details : Detail::brief});
  document.sentences.push_back({.key = "growth", .texts = sentences_on_growth(study), .title = "How the peak grows"});
  return document;
}

void add_ranks(const MemoryStudy& study, const std::vector<std::string>& models, const MemoryRequest& request,
               const MachineFacts& facts, Document& document) {
  if (request.mode != RunMode::train) fail_user("--ranks: what ranks share is a training; --mode train");
  std::vector<RankCell> cells;
  for (const std::string& model : models) {
    const std::vector<RankCell> more = rank_cells(study, open_model(model, request.model_options), request, facts);
    cells.insert(cells.end(), more.begin(), more.end());
  }
  document.tables.push_back(rank_table(cells, request));
  document.sentences.push_back(
      {.key = "rank_assumptions", .texts = rank_assumptions(cells, request), .title = "What is assumed of ranks"});
}

}  // namespace

Document memory(const MemoryRequest& request, const MachineFacts& facts, const MemoryProgress& progress) {
  return memory({request.model}, request, facts, progress);
}

Document memory(const std::vector<std::string>& models, const MemoryRequest& request, const MachineFacts& facts,
                const MemoryProgress& progress) {
  MemoryRequest one = request;
  for (const std::string& model : models) open_model(model, request.model_options);  // What is not there is said first.
  const std::int64_t each = count_cells(request);
  const ShardPart part = take_part(one.division, {.cells = static_cast<std::int64_t>(models.size()) * each});
  std::optional<MemoryStudy> study;
  for (std::size_t i = 0; i < models.size(); ++i) {
    const std::int64_t first = static_cast<std::int64_t>(i) * each;
    one.model = models[i];
    one.cells = IndexRange{std::max(part.cells.first - first, std::int64_t{0}), std::min(part.cells.end - first, each)};
    if (one.cells->is_empty()) continue;
    MemoryStudy more = memory_study(one, facts, progress);
    if (study)
      append_cells(*study, std::move(more));
    else
      study = std::move(more);
  }
  if (!study) return document_without_part(one.division, "assay-memory-1");
  Document document = document_of(*study, request, facts);
  if (!request.ranks.counts.empty()) add_ranks(*study, models, request, facts, document);
  return document;
}

}  // namespace assay
