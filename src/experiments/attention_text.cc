#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/json.h"
#include "base/units.h"
#include "experiments/attention.h"
#include "experiments/probe.h"
#include "results/fields.h"

namespace assay {
namespace {

/// One field of a cell, for JSON and CSV.
struct CellField {
  const char* name;
  OrderedJson (*value)(const AttentionCell& cell);
};

std::optional<double> rate_gflops(double flops, const std::optional<Summary>& time_ms) {
  if (!time_ms) return std::nullopt;
  return flops / time_ms->median * 1e-6;
}

template <std::optional<Summary> AttentionCell::*phase, double Summary::*member>
OrderedJson figure(const AttentionCell& cell) {
  return cell.*phase ? OrderedJson((*(cell.*phase)).*member) : OrderedJson(nullptr);
}

template <std::optional<Summary> AttentionCell::*phase, double Interval::*end>
OrderedJson interval_end(const AttentionCell& cell) {
  const std::optional<Summary>& summary = cell.*phase;
  return summary && summary->interval ? OrderedJson((*summary->interval).*end) : OrderedJson(nullptr);
}

constexpr auto forward = &AttentionCell::forward;
constexpr auto backward = &AttentionCell::backward;

constexpr CellField cell_fields[] = {
    {"method", [](const AttentionCell& c) -> OrderedJson { return name(c.shape.method); }},
    {"precision", [](const AttentionCell& c) -> OrderedJson { return c.precision; }},
    {"batch", [](const AttentionCell& c) -> OrderedJson { return c.extent.batch; }},
    {"heads", [](const AttentionCell& c) -> OrderedJson { return c.shape.heads; }},
    {"head_dim", [](const AttentionCell& c) -> OrderedJson { return c.shape.head_dim; }},
    {"seq", [](const AttentionCell& c) -> OrderedJson { return c.extent.seq; }},
    {"causal", [](const AttentionCell& c) -> OrderedJson { return c.shape.causal; }},
    {"status", [](const AttentionCell& c) -> OrderedJson { return name(c.status); }},
    {"reason",
     [](const AttentionCell& c) -> OrderedJson {
       return c.reason.empty() ? OrderedJson(nullptr) : OrderedJson(c.reason);
     }},
    {"samples", [](const AttentionCell& c) -> OrderedJson { return c.forward ? c.forward->samples : 0; }},
    {"forward_ms", figure<forward, &Summary::median>},
    {"forward_ci_low_ms", interval_end<forward, &Interval::low>},
    {"forward_ci_high_ms", interval_end<forward, &Interval::high>},
    {"mean_forward_ms", figure<forward, &Summary::mean>},
    {"std_forward_ms", figure<forward, &Summary::standard_deviation>},
    {"saved_bytes", [](const AttentionCell& c) -> OrderedJson { return c.memory.saved_bytes; }},
    {"before_backward_bytes", [](const AttentionCell& c) -> OrderedJson { return c.memory.before_backward_bytes; }},
    {"backward_ms", figure<backward, &Summary::median>},
    {"backward_ci_low_ms", interval_end<backward, &Interval::low>},
    {"backward_ci_high_ms", interval_end<backward, &Interval::high>},
    {"mean_backward_ms", figure<backward, &Summary::mean>},
    {"std_backward_ms", figure<backward, &Summary::standard_deviation>},
    {"peak_bytes", [](const AttentionCell& c) -> OrderedJson { return c.memory.peak_bytes; }},
    {"available_bytes",
     [](const AttentionCell& c) -> OrderedJson {
       return c.available_bytes ? OrderedJson(*c.available_bytes) : OrderedJson(nullptr);
     }},
    {"forward_flops", [](const AttentionCell& c) -> OrderedJson { return c.forward_flops; }},
    {"backward_flops", [](const AttentionCell& c) -> OrderedJson { return c.backward_flops; }},
    {"forward_gflops", [](const AttentionCell& c) { return or_null(rate_gflops(c.forward_flops, c.forward)); }},
    {"backward_gflops", [](const AttentionCell& c) { return or_null(rate_gflops(c.backward_flops, c.backward)); }},
};

/// RFC 4180.
std::string csv_value(const OrderedJson& value) {
  if (value.is_null()) return "";
  if (!value.is_string()) return value.dump();
  const auto text = value.get<std::string>();
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

std::string time_text(const std::optional<Summary>& time_ms) {
  return time_ms ? format_significant(time_ms->median) : "-";
}

std::string interval_text(const std::optional<Summary>& time_ms) {
  if (!time_ms || !time_ms->interval) return "";
  return fmt::format("{}..{}", format_significant(time_ms->interval->low), format_significant(time_ms->interval->high));
}

std::string rate_text(double flops, const std::optional<Summary>& time_ms) {
  const auto rate = rate_gflops(flops, time_ms);
  return rate ? format_significant(*rate) : "-";
}

/// The columns that people read, in the terminal and in Markdown; the two interval columns follow their time.
std::vector<std::string> cells_of(const AttentionCell& c) {
  return {c.precision,
          name(c.shape.method),
          std::to_string(c.shape.head_dim),
          std::to_string(c.extent.seq),
          time_text(c.forward),
          interval_text(c.forward),
          format_bytes(c.memory.before_backward_bytes),
          time_text(c.backward),
          interval_text(c.backward),
          format_bytes(c.memory.peak_bytes),
          rate_text(c.forward_flops, c.forward),
          rate_text(c.backward_flops, c.backward)};
}

const std::vector<std::string>& titles() {
  static const std::vector<std::string> all = {"precision", "method",      "D",    "T",    "forward ms", "95 %",
                                               "held",      "backward ms", "95 %", "peak", "fwd GF/s",   "bwd GF/s"};
  return all;
}

constexpr std::size_t widths[] = {11, 6, 4, 6, 10, 14, 8, 11, 14, 8, 8, 8};

std::string line_of(const std::vector<std::string>& cells) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const bool left = i < 2;
    line += left ? fmt::format("{:<{}}", cells[i], widths[i]) : fmt::format("{:>{}}", cells[i], widths[i]);
    if (i + 1 < cells.size()) line += ' ';
  }
  return line + "\n";
}

std::string status_text(const AttentionCell& cell) {
  return fmt::format("{}: {}", name(cell.status), cell.reason);
}

/// The status in the place of the times; memory is known all the same.
std::string refused_line(const AttentionCell& cell) {
  std::vector<std::string> cells = cells_of(cell);
  cells[4] = name(cell.status);
  return line_of(cells);
}

std::string reason_line(const AttentionCell& cell) {
  return fmt::format("{} {}, D {}, T {}: {}\n", cell.precision, name(cell.shape.method), cell.shape.head_dim,
                     cell.extent.seq, status_text(cell));
}

std::string header(const AttentionRequest& request, const AttentionResult& result) {
  const MachineFacts& facts = result.facts;
  const std::string machine =
      facts.gpu ? facts.gpu->name : fmt::format("{}, {} threads", facts.processor, facts.threads);
  return fmt::format("attention alone, batch {}, {} {}, {}; {}\n", request.batch, request.heads,
                     request.heads == 1 ? "head" : "heads", request.causal ? "causal" : "not causal", machine);
}

constexpr const char* attention_legend =
    "Median of each phase timed by itself, with its 95 % interval. held: memory before the backward (q, k, v, y and "
    "what "
    "is\nsaved for the backward). peak: of the whole step, gradients included. FLOPs that a causal mask leaves out are "
    "not "
    "counted.\n";

}  // namespace

std::string attention_table(const AttentionRequest& request, const AttentionResult& result) {
  std::string text = header(request, result) + "\n" + line_of(titles());
  for (const AttentionCell& cell : result.cells)
    text += cell.status == Status::ok ? line_of(cells_of(cell)) : refused_line(cell);
  text += attention_legend;
  for (const AttentionCell& cell : result.cells) text += cell.status == Status::ok ? "" : reason_line(cell);
  return text;
}

std::string attention_markdown(const AttentionRequest& request, const AttentionResult& result) {
  std::string text = "# Attention\n\n" + header(request, result) + "\n|";
  std::string rule = "|";
  for (const std::string& title : titles()) {
    text += fmt::format(" {} |", title);
    rule += " --: |";
  }
  text += " status |\n" + rule + " :-- |\n";
  for (const AttentionCell& cell : result.cells) {
    text += '|';
    for (const std::string& value : cells_of(cell)) text += fmt::format(" {} |", value);
    text += fmt::format(" {} |\n", cell.status == Status::ok ? "ok" : status_text(cell));
  }
  text += fmt::format("\n{}\n", attention_legend);
  for (const std::string& note : attention_notes(result)) text += fmt::format("- {}\n", note);
  return text;
}

OrderedJson attention_json(const AttentionResult& result) {
  OrderedJson cells = OrderedJson::array();
  OrderedJson records = OrderedJson::array();
  for (const AttentionCell& cell : result.cells) {
    OrderedJson json = OrderedJson::object();
    for (const CellField& field : cell_fields) json[field.name] = field.value(cell);
    cells.push_back(std::move(json));
    if (cell.forward) records.push_back(to_json(cell.forward_record));
    if (cell.backward) records.push_back(to_json(cell.backward_record));
  }
  return {{"schema", "assay-attention-1"},
          {"machine", machine_json(result.facts)},
          {"cells", std::move(cells)},
          {"records", std::move(records)},
          {"notes", attention_notes(result)}};
}

std::string attention_csv(const AttentionResult& result) {
  std::string text;
  for (const CellField& field : cell_fields) text += (text.empty() ? "" : ",") + std::string(field.name);
  text += "\r\n";
  for (const AttentionCell& cell : result.cells) {
    std::string line;
    for (const CellField& field : cell_fields)
      line += (&field == cell_fields ? "" : ",") + csv_value(field.value(cell));
    text += line + "\r\n";
  }
  return text;
}

}  // namespace assay
