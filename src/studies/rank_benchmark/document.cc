#include <fmt/format.h>

#include "results/model_name.h"
#include "studies/probe/run.h"
#include "studies/rank_benchmark/run.h"

namespace assay {
namespace {

using BenchmarkRow = RankBenchmarkRow;
using RowColumns = std::vector<ColumnOf<BenchmarkRow>>;

RowColumns row_labels() {
  using Cell = Table::Cell;
  constexpr auto label = Table::Role::label;
  return {
      {{.key = "model", .role = label}, [](const BenchmarkRow& row) -> Cell { return shown_model_name(row.model); }},
      {{.key = "precision", .role = label}, [](const BenchmarkRow& row) -> Cell { return row.precision; }},
      {{.key = "batch", .title = "B", .meaning = "rows of a whole step", .role = label},
       [](const BenchmarkRow& row) -> Cell { return row.extent.batch; }},
      {{.key = "seq", .title = "T", .role = label}, [](const BenchmarkRow& row) -> Cell { return row.extent.seq; }},
      {{.key = "ranks", .role = label}, [](const BenchmarkRow& row) -> Cell { return std::int64_t{row.ranks}; }},
      {{.key = "reduce", .meaning = "how gradients travel and are summed", .role = label},
       [](const BenchmarkRow& row) -> Cell { return std::string(row.format.name); }}};
}

void add_rank_times(RowColumns& columns) {
  const auto add = [&](const char* key, const char* title, const char* meaning, double RankStepTime::*member) {
    columns.push_back({{.key = key, .title = title, .unit = "ms", .meaning = meaning},
                       [member](const BenchmarkRow& row) -> Table::Cell { return row.median.*member * 1e3; }});
  };
  add("forward_ms", "forward", "median of the slowest rank", &RankStepTime::forward_s);
  add("backward_ms", "backward", "without exposed communication", &RankStepTime::backward_s);
  add("exposed_ms", "exposed", "communication and sums in which nothing else is done", &RankStepTime::exposed_s);
  add("hidden_ms", "hidden", "communication behind the backward", &RankStepTime::hidden_s);
  add("optimizer_ms", "optimizer", "with parameters handed out under --zero 1", &RankStepTime::optimizer_s);
  add("step_ms", "step", "median of the slowest rank", &RankStepTime::step_s);
}

void add_efficiencies(RowColumns& columns) {
  using Cell = Table::Cell;
  columns.push_back({{.key = "exposed_share", .title = "exposed / step", .notation = Notation::percent, .digits = 1},
                     [](const BenchmarkRow& row) -> Cell { return row.exposed_share(); }});
  columns.push_back({{.key = "sent_bytes",
                      .title = "sent",
                      .unit = "bytes",
                      .meaning = "by a rank, a step",
                      .notation = Notation::bytes},
                     [](const BenchmarkRow& row) -> Cell { return row.sent_bytes; }});
  columns.push_back({{.key = "weak_efficiency",
                      .title = "weak",
                      .meaning = "rank 0's rows alone over this step",
                      .notation = Notation::percent},
                     [](const BenchmarkRow& row) -> Cell { return row.weak_efficiency(); }});
  columns.push_back({{.key = "speed_up", .title = "speed-up", .meaning = "all rows on rank 0 alone over this step"},
                     [](const BenchmarkRow& row) -> Cell { return row.speed_up(); }});
  columns.push_back(
      {{.key = "strong_efficiency", .title = "strong", .meaning = "speed-up over ranks", .notation = Notation::percent},
       [](const BenchmarkRow& row) -> Cell { return row.strong_efficiency(); }});
  columns.push_back({{.key = "step_j", .title = "energy", .unit = "J", .meaning = "all machines, a step"},
                     [](const BenchmarkRow& row) -> Cell {
                       if (!row.step_j) return Absent{row.energy_status};
                       return *row.step_j;
                     }});
  columns.push_back({{.key = "alone_part_ms", .unit = "ms", .detail = Detail::data},
                     [](const BenchmarkRow& row) -> Cell { return row.alone_part_s * 1e3; }});
  columns.push_back({{.key = "alone_whole_ms", .unit = "ms", .detail = Detail::data},
                     [](const BenchmarkRow& row) -> Cell { return row.alone_whole_s * 1e3; }});
  columns.push_back(
      {{.key = "steps", .detail = Detail::data}, [](const BenchmarkRow& row) -> Cell { return row.steps; }});
}

/// What ran, as a ledger tells it.
Table reduction_table(const std::vector<BenchmarkRow>& rows) {
  using Cell = Table::Cell;
  constexpr auto label = Table::Role::label;
  const std::vector<ColumnOf<BenchmarkRow>> columns = {
      {{.key = "operation", .role = label}, [](const BenchmarkRow& row) -> Cell { return row.reduction.operation; }},
      {{.key = "path", .role = label}, [](const BenchmarkRow& row) -> Cell { return row.reduction.path; }},
      {{.key = "kernel"}, [](const BenchmarkRow& row) -> Cell { return row.reduction.kernel; }},
      {{.key = "operand", .meaning = "dtype on the wire"},
       [](const BenchmarkRow& row) -> Cell { return name(row.reduction.operand); }},
      {{.key = "accumulator", .title = "sum"},
       [](const BenchmarkRow& row) -> Cell { return name(row.reduction.accumulator); }},
      {{.key = "stored"}, [](const BenchmarkRow& row) -> Cell { return name(row.reduction.stored); }}};
  return filled({.key = "reductions", .caption = "What sums gradients over ranks"}, columns, rows);
}

}  // namespace

Document rank_benchmark(const RankBenchmarkRequest& request, const MachineFacts& facts, Group& group,
                        InterruptFlag interrupted) {
  const std::vector<BenchmarkRow> rows = rank_benchmark_rows(request, facts, group, interrupted);
  Document document;
  document.subject = {.schema = "assay-rank-benchmark-1",
                      .title = fmt::format("training steps of {} ranks, {}", group.size(), group.transport())};
  document.machine = machine_json(facts);
  RowColumns columns = row_labels();
  add_rank_times(columns);
  add_efficiencies(columns);
  document.tables.push_back(
      filled({.key = "rank_steps",
              .legend = "weak: the time of one rank's rows alone over the step of all; strong: the time of all rows on "
                        "one rank, alone, over ranks times that step. Alone: rank 0 between two steps of all, the "
                        "others waiting"},
             columns, rows));
  document.tables.push_back(reduction_table(rows));
  add_fact(document.methods, {.key = "steps", .title = "steps timed"}, request.steps);
  add_fact(document.methods, {.key = "warmup", .title = "steps before them"}, request.warmup);
  return document;
}

}  // namespace assay
