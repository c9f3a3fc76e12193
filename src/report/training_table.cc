#include "report/training_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/units.h"
#include "report/text.h"

namespace assay {
namespace {

constexpr const char* blank = "-";

std::string ms(const std::optional<double>& value) {
  return value ? format_significant(*value) : blank;
}

/// "464 ± 3".
std::string with_deviation(const std::optional<double>& mean, const std::optional<double>& deviation) {
  if (!mean) return blank;
  return deviation ? fmt::format("{} ± {}", format_significant(*mean), format_significant(*deviation)) : ms(mean);
}

std::string interval(const Record& r) {
  if (!r.step_ms) return blank;
  if (!r.ci_low_ms || !r.ci_high_ms) return ms(r.step_ms);
  return fmt::format("{} [{}, {}]", ms(r.step_ms), ms(r.ci_low_ms), ms(r.ci_high_ms));
}

std::string speedup_text(const Record& r) {
  return r.speedup ? fmt::format("{:.2f}x", *r.speedup) : blank;
}

std::string gigabytes(const std::optional<std::int64_t>& bytes) {
  return bytes ? fmt::format("{:.2f}", static_cast<double>(*bytes) / 1e9) : blank;
}

struct TrainingColumn {
  const char* title;
  std::string (*cell)(const Record& record);
};

constexpr TrainingColumn training_columns[] = {
    {"seq", [](const Record& r) { return std::to_string(r.seq); }},
    {"precision", [](const Record& r) { return r.fusion == "on" ? r.precision : r.precision + " unfused"; }},
    {"warm", [](const Record& r) { return std::to_string(r.warmup_steps.value_or(0)); }},
    {"forward", [](const Record& r) { return with_deviation(r.mean_forward_ms, r.std_forward_ms); }},
    {"backward", [](const Record& r) { return with_deviation(r.mean_backward_ms, r.std_backward_ms); }},
    {"update", [](const Record& r) { return with_deviation(r.mean_optimizer_ms, r.std_optimizer_ms); }},
    {"step: median [95 %]", interval},
    {"speed-up", speedup_text},
    {"tokens/s", [](const Record& r) { return r.tokens_per_s ? format_significant(*r.tokens_per_s) : blank; }},
    {"peak", [](const Record& r) { return r.peak_share ? fmt::format("{:.0f} %", *r.peak_share * 100) : blank; }},
    {"GB", [](const Record& r) { return gigabytes(r.peak_bytes); }},
    {"trust", [](const Record& r) { return r.trust.value_or(blank); }},
};
constexpr std::size_t named_columns = 3;  ///< Those that a row without a measurement has too.

using Row = std::vector<std::string>;

std::vector<std::size_t> widths_of(const std::vector<Row>& rows) {
  std::vector<std::size_t> widths;
  for (const TrainingColumn& column : training_columns) widths.push_back(display_width(column.title));
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], display_width(row[i]));
  }
  return widths;
}

std::string line(const Row& row, const std::vector<std::size_t>& widths) {
  std::string text;
  for (std::size_t i = 0; i < row.size(); ++i) text += pad_left(row[i], widths[i]) + (i + 1 < row.size() ? "  " : "");
  return text + "\n";
}

/// "mixed-bf16 unfused, 4 x 128, warm-up 5".
std::string row_name(const Record& r) {
  return fmt::format("{}{}, {} x {}, warm-up {}", r.precision, r.fusion == "on" ? "" : " unfused", r.batch, r.seq,
                     r.warmup_steps.value_or(0));
}

std::string indented(const std::string& text) {
  return "  " + wrap(terminal_text(text), 118, 4) + "\n";
}

/// "J a step: 0.51 forward, 1.10 backward, 0.20 update"; a phase that the meter cannot tell is left out.
std::string energy_line(const Record& r) {
  if (!r.energy_j) return "";
  const auto batch = static_cast<double>(r.batch);
  std::string text = fmt::format("{}: {} J a step", row_name(r), format_significant(*r.energy_j * batch));
  if (r.energy_net_j) text += fmt::format(", {} above idle", format_significant(*r.energy_net_j * batch));
  const std::pair<const char*, std::optional<double>> phases[] = {
      {"forward", r.forward_energy_j}, {"backward", r.backward_energy_j}, {"update", r.optimizer_energy_j}};
  for (const auto& [phase, energy_j] : phases) {
    if (energy_j) text += fmt::format(", {} {}", phase, format_significant(*energy_j * batch));
  }
  if (r.energy_short_share.value_or(0) > 0)
    text += fmt::format("; {:.0f} % of the steps are too short for the meter", 100 * *r.energy_short_share);
  return indented(text);
}

std::string energy_notes(std::span<const Record> records) {
  std::string text;
  for (const Record& record : records) {
    if (record.samples > 0 && text.empty()) text = indented(record.energy_status);
  }
  for (const Record& record : records) text += energy_line(record);
  return text.empty() ? "" : "Energy\n" + text + "\n";
}

std::string trust_notes(std::span<const Record> records) {
  std::string text;
  for (const Record& record : records) {
    if (!record.trust || *record.trust == "A") continue;
    for (const std::string& reason : record.trust_reasons)
      text += indented(fmt::format("{}: {}", row_name(record), reason));
  }
  return text.empty() ? "" : "Trust below A\n" + text + "\n";
}

std::string sentences(const Document& document, RuleKind kind, const char* title) {
  std::string text;
  for (const Finding& finding : document.findings) {
    if (finding.kind == kind) text += indented(finding.text);
  }
  return text.empty() ? "" : fmt::format("{}\n{}\n", title, text);
}

bool one_table(const Record& a, const Record& b) {
  return a.model == b.model && a.batch == b.batch && a.mode == b.mode;
}

std::string table(std::span<const Record> records) {
  std::vector<Row> rows;
  for (const Record& record : records) {
    Row& row = rows.emplace_back();
    const bool measured = record.step_ms.has_value() && record.status != Status::not_finite;
    for (std::size_t i = 0; i < (measured ? std::size(training_columns) : named_columns); ++i)
      row.push_back(terminal_text(training_columns[i].cell(record)));
  }
  const std::vector<std::size_t> widths = widths_of(rows);
  Row titles;
  for (const TrainingColumn& column : training_columns) titles.emplace_back(column.title);
  std::string text = line(titles, widths);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::string shown = line(rows[i], widths);
    if (rows[i].size() == named_columns) {
      shown.pop_back();
      shown += fmt::format("  {}: {}\n", name(records[i].status),
                           terminal_text(records[i].reason.value_or("no reason was given")));
    }
    text += shown;
  }
  return text;
}

std::string plain(const std::optional<double>& value) {
  return value ? fmt::format("{:.3f}", *value) : "";
}

}  // namespace

std::string training_report(const Document& document) {
  std::string text;
  const std::span<const Record> records = document.records;
  for (std::size_t first = 0; first < records.size();) {
    std::size_t end = first;
    while (end < records.size() && one_table(records[first], records[end])) ++end;
    const Record& r = records[first];
    text += fmt::format(
        "{} ({} parameters), batch {}, {}, recompute {}, {}, {} threads\ntimes in ms, mean ± std; peak: share of the "
        "best matmul measured here; GB: predicted peak of memory\n\n",
        terminal_text(r.model), format_count(r.parameters), r.batch, terminal_text(r.mode), terminal_text(r.recompute),
        terminal_text(r.device), r.threads);
    text += table(records.subspan(first, end - first)) + "\n";
    first = end;
  }
  text += energy_notes(records) + trust_notes(records);
  text += sentences(document, RuleKind::finding, "Findings");
  text += sentences(document, RuleKind::expectation, "Expectations");
  text.pop_back();
  return text;
}

std::string training_markdown(std::span<const Record> records) {
  std::string text =
      "| model | context_length | fwd_avg | fwd_std | bwd_avg | bwd_std | opt_avg | opt_std | total_avg | total_std | "
      "status | dtype | device | batch_size | fusion | warmup |\n"
      "| :-- | --: | --: | --: | --: | --: | --: | --: | --: | --: | :-- | :-- | :-- | --: | :-- | --: |\n";
  for (const Record& r : records) {
    text +=
        fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |\n",
                    markdown_cell(r.model), r.seq, plain(r.mean_forward_ms), plain(r.std_forward_ms),
                    plain(r.mean_backward_ms), plain(r.std_backward_ms), plain(r.mean_optimizer_ms),
                    plain(r.std_optimizer_ms), plain(r.mean_step_ms), plain(r.std_step_ms), name(r.status),
                    markdown_cell(r.precision), markdown_cell(r.device), r.batch, r.fusion, r.warmup_steps.value_or(0));
  }
  return text;
}

}  // namespace assay
