#include <fmt/format.h>

#include <cmath>

#include "base/json.h"
#include "base/units.h"
#include "experiments/autocast.h"

namespace assay {
namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::string run_text(const ToyRun& run) {
  const auto shown = [](double value, int digits) {
    return std::isfinite(value) ? fmt::format("{:.{}g} (finite)", value, digits) : "not finite";
  };
  std::string text = fmt::format("run on 8 rows, loss scale 1: loss {}", shown(run.loss, 6));
  for (const ToyRun::Figure& figure : run.figures)
    text += fmt::format("\n  largest |{}| {}", figure.name, shown(figure.largest, 4));
  return text + "\n";
}

std::string table_text(const AutocastTable& table) {
  std::string text =
      fmt::format("\n{}\n{:<20}{:<50}{:<26}{:<8}{}\n", table.precision, "kind", "name", "operation", "dtype", "count");
  for (const DtypeRow& row : table.rows) {
    text +=
        fmt::format("{:<20}{:<50}{:<26}{:<8}{}\n", name(row.kind), row.name, row.operation, name(row.dtype), row.count);
  }
  return table.run ? text + run_text(*table.run) : text;
}

constexpr const char* about_lists =
    "These are PyTorch's CUDA lists, used on every device here. PyTorch's CPU autocast differs: it runs LayerNorm and\n"
    "softmax in 16 bits.\n";

std::string lists_text(const AutocastLists& lists) {
  std::string text =
      "\nThe autocast lists: operations cast down to 16 bits, kept in f32, or run in the widest dtype of their "
      "inputs\n";
  text += fmt::format("cast down:   {}\n", joined(lists.cast_down));
  text += fmt::format("kept in f32: {}\n", joined(lists.kept_in_f32));
  text += fmt::format("widest:      {}\n", joined(lists.widest));
  return text + about_lists;
}

/// Over fp16's time.
double cost_ratio(const NormCosts& costs, std::size_t row) {
  return costs.rows[row].time_ms.median / costs.rows[0].time_ms.median;
}

std::string costs_text(const NormCosts& costs) {
  std::string text = fmt::format("\nThe {} norms of {} alone, {} x {} tokens, stored in f16\n", costs.norms,
                                 costs.model, costs.extent.batch, costs.extent.seq);
  for (const NormCost& row : costs.rows) {
    const auto& interval = row.time_ms.interval;
    text += fmt::format(
        "{:<16}{:>8} ms{:<18} {} ({})\n", row.precision, format_significant(row.time_ms.median),
        interval ? fmt::format(" [{}, {}]", format_significant(interval->low), format_significant(interval->high)) : "",
        row.kernel, name(row.verdict));
  }
  const char* emulated = costs.rows[1].verdict == Verdict::emulated
                             ? ",\nemulated in software, which says nothing of what f16 instructions would take"
                             : "";
  text +=
      fmt::format("Against f16 in and out with f32 arithmetic (fp16), f16 arithmetic takes {:.2f} times as long{};\n",
                  cost_ratio(costs, 1), emulated);
  return text + fmt::format("f32 in and out, as autocast keeps norms, {:.2f} times.\n", cost_ratio(costs, 2));
}

OrderedJson row_json(const DtypeRow& row) {
  OrderedJson json = {{"kind", name(row.kind)},
                      {"name", row.name},
                      {"operation", nullptr},
                      {"dtype", name(row.dtype)},
                      {"count", row.count}};
  if (!row.operation.empty()) json["operation"] = row.operation;
  return json;
}

OrderedJson run_json(const ToyRun& run) {
  OrderedJson largest = OrderedJson::object();
  for (const ToyRun::Figure& figure : run.figures) largest[figure.name] = finite_or_null(figure.largest);
  return {{"loss", finite_or_null(run.loss)}, {"largest_magnitude", largest}};
}

OrderedJson costs_json(const NormCosts& costs) {
  OrderedJson rows = OrderedJson::array();
  for (const NormCost& row : costs.rows) {
    OrderedJson json = {{"precision", row.precision},
                        {"kernel", row.kernel},
                        {"verdict", name(row.verdict)},
                        {"samples", row.time_ms.samples},
                        {"median_ms", row.time_ms.median},
                        {"mean_ms", row.time_ms.mean},
                        {"std_ms", row.time_ms.standard_deviation},
                        {"ci_low_ms", nullptr},
                        {"ci_high_ms", nullptr}};
    if (row.time_ms.interval) {
      json["ci_low_ms"] = row.time_ms.interval->low;
      json["ci_high_ms"] = row.time_ms.interval->high;
    }
    rows.push_back(std::move(json));
  }
  return {{"model", costs.model},
          {"batch", costs.extent.batch},
          {"seq", costs.extent.seq},
          {"norms", costs.norms},
          {"rows", rows},
          {"f16_arithmetic_ratio", cost_ratio(costs, 1)},
          {"f32_stored_ratio", cost_ratio(costs, 2)}};
}

}  // namespace

std::string autocast_text(const AutocastResult& result) {
  std::string text = fmt::format(
      "# {}: the dtype of every value of a training step, read from the Program after its passes ({})\n", result.model,
      result.tables.front().fusion == Fusion::on ? "fused, as train runs it" : "nothing fused");
  for (const AutocastTable& table : result.tables) text += table_text(table);
  text += lists_text(result.lists);
  text += "\n# Why norms keep f32\n" + sensitivity_text(result.sensitivity);
  return text + costs_text(result.costs);
}

OrderedJson autocast_json(const AutocastResult& result) {
  OrderedJson tables = OrderedJson::array();
  for (const AutocastTable& table : result.tables) {
    OrderedJson rows = OrderedJson::array();
    for (const DtypeRow& row : table.rows) rows.push_back(row_json(row));
    tables.push_back({{"precision", table.precision},
                      {"fusion", table.fusion == Fusion::on ? "on" : "off"},
                      {"values", std::move(rows)},
                      {"run", table.run ? run_json(*table.run) : OrderedJson(nullptr)}});
  }
  return {{"schema", "assay-autocast-1"},
          {"model", result.model},
          {"tables", std::move(tables)},
          {"lists",
           {{"cast_down", result.lists.cast_down},
            {"kept_in_f32", result.lists.kept_in_f32},
            {"widest", result.lists.widest},
            {"are", "PyTorch's CUDA lists, on every device; its CPU autocast runs LayerNorm and softmax in 16 bits"}}},
          {"norm_sensitivity", sensitivity_json(result.sensitivity)},
          {"norm_cost", costs_json(result.costs)}};
}

}  // namespace assay
