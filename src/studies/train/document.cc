#include "studies/train/document.h"
#include "results/model_name.h"

#include <fmt/format.h>

#include <cmath>

namespace assay {
namespace {

Table epochs_table(const TrainReport& report) {
  using Row = EpochScore;
  using Cell = Table::Cell;
  const std::vector<ColumnOf<Row>> columns = {
      {{.key = "epoch", .role = Table::Role::label}, [](const Row& row) -> Cell { return std::int64_t{row.epoch}; }},
      {{.key = "correct"}, [](const Row& row) -> Cell { return std::int64_t{row.correct}; }},
      {{.key = "of"}, [](const Row& row) -> Cell { return std::int64_t{row.of}; }},
      {{.key = "accuracy", .notation = Notation::percent, .digits = 2},
       [](const Row& row) -> Cell { return static_cast<double>(row.correct) / static_cast<double>(row.of); }},
      {{.key = "mean_loss", .title = "mean loss", .unit = "nat", .notation = Notation::fixed, .digits = 4},
       [](const Row& row) -> Cell { return row.mean_loss; }},
      {{.key = "seconds", .title = "after", .unit = "s", .notation = Notation::fixed, .digits = 0},
       [](const Row& row) -> Cell { return row.seconds; }}};
  return filled({.key = "epochs", .caption = "Scores of the epochs"}, columns, report.epochs);
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

Table training_facts(const TrainRequest& request, const TrainReport& report) {
  Table facts = Document{}.subject.facts;
  const bool has_saved = !request.out.empty() && !report.failure;
  add_fact(facts, {.key = "model", .detail = Detail::details}, request.model);
  add_fact(facts, {.key = "precision", .detail = Detail::details}, request.precision);
  add_fact(facts, {.key = "data"}, report.data);
  add_fact(facts, {.key = "done", .title = "steps done"}, static_cast<std::int64_t>(report.losses.size()));
  add_fact(facts, {.key = "asked", .title = "steps asked", .detail = Detail::details}, report.total);
  add_fact(facts, {.key = "seconds", .title = "in steps", .unit = "s"}, report.seconds);
  add_fact(facts, {.key = "tokens_per_s", .title = "tokens", .unit = "1/s", .notation = Notation::count},
           report.tokens_per_s);
  add_fact(facts,
           {.key = "skipped",
            .title = "updates skipped, not finite",
            .detail = report.skipped > 0 ? Detail::brief : Detail::details},
           report.skipped);
  add_fact(facts, {.key = "saved"}, text_or_absent(has_saved ? request.out.string() : ""));
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
  if (!report.epochs.empty()) document.tables.push_back(epochs_table(report));
  if (!report.losses.empty()) document.figures.push_back(training_loss_figure(report));
  return document;
}

}  // namespace assay
