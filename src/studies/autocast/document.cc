#include <fmt/format.h>

#include <cmath>

#include "base/json.h"
#include "results/json_places.h"
#include "results/model_name.h"
#include "studies/autocast/run.h"

namespace assay {
namespace {

/// What stands beside the values of one precision.
Table precision_facts(const AutocastTable& table, const std::string& key) {
  Table facts{.key = key, .detail = Detail::data};
  add_fact(facts, {.key = "precision"}, table.precision);
  add_fact(facts, {.key = "fusion"}, table.fusion == Fusion::on ? "on" : "off");
  if (!table.run) add_fact(facts, {.key = "run"}, Absent{});
  return facts;
}

Table values_table(const AutocastTable& table, const std::string& key) {
  using Row = DtypeRow;
  using Cell = Table::Cell;
  constexpr auto label = Table::Role::label;
  const std::vector<ColumnOf<Row>> columns = {
      {{.key = "kind", .role = label}, [](const Row& r) -> Cell { return name(r.kind); }},
      {{.key = "name", .role = label}, [](const Row& r) -> Cell { return r.name; }},
      {{.key = "operation", .meaning = "that computes it"}, [](const Row& r) { return text_or_absent(r.operation); }},
      {{.key = "dtype"}, [](const Row& r) -> Cell { return name(r.dtype); }},
      {{.key = "count", .notation = Notation::exact}, [](const Row& r) -> Cell { return r.count; }}};
  return filled({.key = key + ".values", .caption = table.precision}, columns, table.rows);
}

/// Which number it is that is none says nothing.
Table::Cell if_finite(double value) {
  return std::isfinite(value) ? Table::Cell(value) : Table::Cell(Absent{"not finite"});
}

Table run_facts(const ToyRun& run, const std::string& key) {
  Table facts{.key = key + ".run", .caption = "run on 8 rows, loss scale 1"};
  add_fact(facts, {.key = "loss", .notation = Notation::general, .digits = 6}, if_finite(run.loss));
  for (const ToyRun::Figure& figure : run.figures) {
    add_fact(facts,
             {.key = "largest_magnitude." + key_part(figure.name),
              .title = fmt::format("largest |{}|", figure.name),
              .notation = Notation::general,
              .digits = 4},
             if_finite(figure.largest));
  }
  return facts;
}

Table lists_facts(const AutocastLists& lists) {
  Table facts{.key = "lists",
              .caption =
                  "The autocast lists: operations cast down to 16 bits, kept in f32, or run in the widest dtype of "
                  "their inputs",
              .legend =
                  "These are PyTorch's CUDA lists, used on every device here. PyTorch's CPU autocast differs: it "
                  "runs LayerNorm and softmax in 16 bits."};
  add_fact(facts, {.key = "cast_down", .title = "cast down"}, lists.cast_down);
  add_fact(facts, {.key = "kept_in_f32", .title = "kept in f32"}, lists.kept_in_f32);
  add_fact(facts, {.key = "widest"}, lists.widest);
  add_fact(facts, {.key = "are", .detail = Detail::data},
           "PyTorch's CUDA lists, on every device; its CPU autocast runs LayerNorm and softmax in 16 bits");
  return facts;
}

/// Over fp16's time.
double cost_ratio(const NormCosts& costs, std::size_t row) {
  return costs.rows[row].time_ms.median / costs.rows[0].time_ms.median;
}

Table::Cell time_of(const NormCost& row) {
  const Summary& time = row.time_ms;
  if (!time.interval) return time.median;
  return Estimate{time.median, time.interval->low, time.interval->high};
}

Table costs_table(const NormCosts& costs) {
  using Row = NormCost;
  using Cell = Table::Cell;
  constexpr auto data = Detail::data;
  const std::vector<ColumnOf<Row>> columns = {
      {{.key = "precision", .role = Table::Role::label}, [](const Row& r) -> Cell { return r.precision; }},
      {{.key = "kernel"}, [](const Row& r) -> Cell { return r.kernel; }},
      {{.key = "verdict"}, [](const Row& r) -> Cell { return name(r.verdict); }},
      {{.key = "samples", .detail = data}, [](const Row& r) -> Cell { return std::uint64_t{r.time_ms.samples}; }},
      {{.key = "median_ms", .title = "median", .unit = "ms", .more_keys = {"ci_low_ms", "ci_high_ms"}}, time_of},
      {{.key = "mean_ms", .unit = "ms", .detail = data}, [](const Row& r) -> Cell { return r.time_ms.mean; }},
      {{.key = "std_ms", .unit = "ms", .detail = data},
       [](const Row& r) -> Cell { return r.time_ms.standard_deviation; }}};
  return filled({.key = "norm_cost.rows",
                 .caption = fmt::format("The {} norms of {} alone, {} x {} tokens, stored in f16", costs.norms,
                                        shown_model_name(costs.model), costs.extent.batch, costs.extent.seq)},
                columns, costs.rows);
}

Table cost_facts(const NormCosts& costs) {
  Table facts{.key = "norm_cost", .caption = "Against f16 in and out with f32 arithmetic (fp16)"};
  const auto fact = [&](const char* key, Table::Cell value) {
    add_fact(facts, {.key = key, .detail = Detail::data}, std::move(value));
  };
  fact("model", costs.model);
  fact("batch", costs.extent.batch);
  fact("seq", costs.extent.seq);
  fact("norms", costs.norms);
  const auto ratio = [&](const char* key, const char* title, std::size_t row) {
    add_fact(facts, {.key = key, .title = title, .unit = "times", .notation = Notation::fixed, .digits = 2},
             cost_ratio(costs, row));
  };
  ratio("f16_arithmetic_ratio", "f16 arithmetic takes", 1);
  ratio("f32_stored_ratio", "f32 in and out, as autocast keeps norms", 2);
  if (costs.rows[1].verdict == Verdict::emulated)
    facts.legend =
        "f16 arithmetic is emulated in software here, which says nothing of what f16 instructions would take.";
  return facts;
}

}  // namespace

Document to_document(const AutocastResult& result) {
  Document document;
  document.subject.schema = "assay-autocast-1";
  document.subject.title =
      fmt::format("{}: the dtype of every value of a training step, read from the Program after its passes ({})",
                  shown_model_name(result.model),
                  result.tables.front().fusion == Fusion::on ? "fused, as train runs it" : "nothing fused");
  add_fact(document.subject.facts, {.key = "model", .detail = Detail::data}, result.model);
  for (std::size_t i = 0; i < result.tables.size(); ++i) {
    const AutocastTable& table = result.tables[i];
    const std::string key = fmt::format("tables.{}", i);
    document.tables.push_back(precision_facts(table, key));
    document.tables.push_back(values_table(table, key));
    if (table.run) document.tables.push_back(run_facts(*table.run, key));
  }
  document.tables.push_back(lists_facts(result.lists));
  for (Table& table : sensitivity_tables(result.sensitivity)) document.tables.push_back(std::move(table));
  document.tables.push_back(costs_table(result.costs));
  document.tables.push_back(cost_facts(result.costs));
  document.sentences = {{.key = "norm_sensitivity.notes", .texts = sensitivity_notes(result.sensitivity)}};
  return document;
}

Document autocast(const AutocastRequest& request, const FactsSource& facts) {
  return to_document(autocast_result(request, facts));
}

}  // namespace assay
