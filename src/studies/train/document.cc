#include "studies/train/document.h"
#include "results/model_name.h"

#include <fmt/format.h>

#include <cmath>

namespace assay {
namespace {

using ScoreColumn = ColumnOf<EvalScore>;

const std::vector<ScoreColumn>& step_columns() {
  using Cell = Table::Cell;
  static const std::vector<ScoreColumn> columns = {
      {{.key = "epoch", .role = Table::Role::label},
       [](const EvalScore& row) -> Cell { return row.epoch > 0 ? Cell(row.epoch) : Cell(Absent{}); }},
      {{.key = "step", .role = Table::Role::label}, [](const EvalScore& row) -> Cell { return row.held_out.steps; }}};
  return columns;
}

const std::vector<ScoreColumn>& classifier_columns() {
  using Cell = Table::Cell;
  static const std::vector<ScoreColumn> columns = {
      {{.key = "correct"}, [](const EvalScore& row) -> Cell { return row.held_out.correct; }},
      {{.key = "of"}, [](const EvalScore& row) -> Cell { return row.held_out.of; }},
      {{.key = "accuracy", .notation = Notation::percent, .digits = 2}, [](const EvalScore& row) -> Cell {
         return static_cast<double>(row.held_out.correct) / static_cast<double>(row.held_out.of);
       }}};
  return columns;
}

const std::vector<ScoreColumn>& text_columns() {
  using Cell = Table::Cell;
  static const std::vector<ScoreColumn> columns = {
      {{.key = "scored", .title = "tokens scored", .notation = Notation::count},
       [](const EvalScore& row) -> Cell { return row.held_out.of; }},
      {{.key = "perplexity", .digits = 4},
       [](const EvalScore& row) -> Cell { return std::exp(row.held_out.mean_loss); }}};
  return columns;
}

const std::vector<ScoreColumn>& loss_columns() {
  using Cell = Table::Cell;
  static const std::vector<ScoreColumn> columns = {
      {{.key = "mean_loss", .title = "mean loss", .unit = "nat", .notation = Notation::fixed, .digits = 4},
       [](const EvalScore& row) -> Cell { return row.held_out.mean_loss; }},
      {{.key = "seconds", .title = "after", .unit = "s", .notation = Notation::fixed, .digits = 0},
       [](const EvalScore& row) -> Cell { return row.seconds; }}};
  return columns;
}

Table scores_table(const TrainReport& report) {
  const bool is_text = report.scores.front().task == Task::language_model;
  std::vector<ScoreColumn> columns = step_columns();
  for (const auto* more : {is_text ? &text_columns() : &classifier_columns(), &loss_columns()})
    columns.insert(columns.end(), more->begin(), more->end());
  return filled({.key = "held_out", .caption = "Scores on held-out data"}, columns, report.scores);
}

Table::Cell finite_cell(double value) {
  return std::isfinite(value) ? Table::Cell(value) : Table::Cell(Absent{"not finite"});
}

/// For files: a line a step.
Table losses_table(const TrainReport& report) {
  Table table{.key = "steps",
              .detail = Detail::data,
              .columns = {{.key = "step"}, {.key = "loss", .unit = "nat"}, {.key = "gradient_norm"}}};
  const std::size_t earlier = report.losses.size() - report.gradient_norms.size();
  for (std::size_t step = 0; step < report.losses.size(); ++step) {
    const Table::Cell norm =
        step < earlier ? Table::Cell(Absent{"an earlier run"}) : finite_cell(report.gradient_norms[step - earlier]);
    add_row(table, {static_cast<std::int64_t>(step + 1), finite_cell(report.losses[step]), norm});
  }
  return table;
}

Figure training_loss_figure(const TrainReport& report) {
  Figure figure{.key = "loss", .caption = "Loss before each step's update"};
  figure.x.title = "step";
  figure.y = {.title = "loss", .unit = "nat"};
  Figure::Series& series = figure.series.emplace_back(Figure::Series{.name = "loss"});
  for (std::size_t step = 0; step < report.losses.size(); ++step)
    series.points.push_back({.x = static_cast<double>(step + 1), .y = report.losses[step]});
  return figure;
}

/// Of a training by several ranks.
void add_reduction(const TrainReport& report, Table& facts) {
  if (report.ranks == 1) return;
  const ReduceStatistics& reduced = report.reduced;
  add_fact(facts, {.key = "ranks"}, std::int64_t{report.ranks});
  add_fact(facts, {.key = "reduction", .title = "gradients by"}, report.reduction);
  add_fact(facts, {.key = "sent_bytes", .title = "sent by rank 0", .unit = "bytes", .notation = Notation::bytes},
           reduced.sent_bytes);
  add_fact(facts, {.key = "exposed_s", .title = "exposed communication", .unit = "s"}, reduced.exposed_s);
  add_fact(facts, {.key = "hidden_s", .title = "hidden communication", .unit = "s"}, reduced.hidden_s());
}

Table training_facts(const TrainRequest& request, const TrainReport& report) {
  Table facts = Document{}.subject.facts;
  const bool has_saved = report.saved && !report.failure;
  add_fact(facts, {.key = "model", .detail = Detail::details}, request.model);
  add_fact(facts, {.key = "precision", .detail = Detail::details}, request.precision);
  add_fact(facts, {.key = "data"}, report.data);
  add_fact(facts, {.key = "done", .title = "steps done"}, static_cast<std::int64_t>(report.losses.size()));
  add_fact(facts, {.key = "asked", .title = "steps asked", .detail = Detail::details}, report.total);
  add_fact(facts, {.key = "seconds", .title = "in steps", .unit = "s"}, report.seconds);
  add_fact(facts, {.key = "tokens_per_s", .title = "tokens", .unit = "1/s", .notation = Notation::count},
           report.tokens_per_s);
  add_reduction(report, facts);
  add_fact(facts,
           {.key = "skipped",
            .title = "updates skipped, not finite",
            .detail = report.skipped > 0 ? Detail::brief : Detail::details},
           report.skipped);
  add_fact(facts, {.key = "saved"}, text_or_absent(has_saved ? request.out.string() : ""));
  if (report.best) {
    add_fact(facts, {.key = "best_step", .title = "best on held-out data", .unit = "step"}, report.best->steps);
    add_fact(facts, {.key = "best_saved", .title = "it is in"}, (request.out / best_folder_name).string());
  }
  add_fact(facts, {.key = "losses", .unit = "nat", .detail = Detail::data}, report.losses);
  return facts;
}

}  // namespace

Document to_document(const TrainRequest& request, const TrainReport& report) {
  Document document;
  document.subject = {.schema = "assay-training-1",
                      .title = fmt::format("{} in {}: a training", shown_model_name(request.model), request.precision),
                      .facts = training_facts(request, report)};
  document.tables.push_back(losses_table(report));
  if (!report.scores.empty()) document.tables.push_back(scores_table(report));
  if (!report.losses.empty()) document.figures.push_back(training_loss_figure(report));
  return document;
}

}  // namespace assay
