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
  if (!r.training->step_ms) return blank;
  if (!r.latency->ci_low_ms || !r.latency->ci_high_ms) return ms(r.training->step_ms);
  return fmt::format("{} [{}, {}]", ms(r.training->step_ms), ms(r.latency->ci_low_ms), ms(r.latency->ci_high_ms));
}

std::string speedup_text(const Record& r) {
  return r.speedup->speedup ? fmt::format("{:.2f}x", *r.speedup->speedup) : blank;
}

std::string gigabytes(const std::optional<std::int64_t>& bytes) {
  return bytes ? fmt::format("{:.2f}", static_cast<double>(*bytes) / 1e9) : blank;
}

struct TrainingColumn {
  const char* title;
  std::string (*cell)(const Record& record);
};

constexpr TrainingColumn training_columns[] = {
    {"seq", [](const Record& r) { return std::to_string(r.setting.seq); }},
    {"precision",
     [](const Record& r) { return r.setting.fusion == "on" ? r.setting.precision : r.setting.precision + " unfused"; }},
    {"warm", [](const Record& r) { return std::to_string(r.setting.warmup_steps.value_or(0)); }},
    {"forward",
     [](const Record& r) { return with_deviation(r.training->mean_forward_ms, r.training->std_forward_ms); }},
    {"backward",
     [](const Record& r) { return with_deviation(r.training->mean_backward_ms, r.training->std_backward_ms); }},
    {"update",
     [](const Record& r) { return with_deviation(r.training->mean_optimizer_ms, r.training->std_optimizer_ms); }},
    {"step: median [95 %]", interval},
    {"speed-up", speedup_text},
    {"tokens/s",
     [](const Record& r) { return r.rates.tokens_per_s ? format_significant(*r.rates.tokens_per_s) : blank; }},
    {"peak",
     [](const Record& r) { return r.rates.peak_share ? fmt::format("{:.0f} %", *r.rates.peak_share * 100) : blank; }},
    {"GB", [](const Record& r) { return gigabytes(r.memory->peak_bytes); }},
    {"trust", [](const Record& r) { return r.grade.trust.value_or(blank); }},
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
  return fmt::format("{}{}, {} x {}, warm-up {}", r.setting.precision, r.setting.fusion == "on" ? "" : " unfused",
                     r.setting.batch, r.setting.seq, r.setting.warmup_steps.value_or(0));
}

std::string indented(const std::string& text) {
  return "  " + wrap(terminal_text(text), 118, 4) + "\n";
}

/// "J a step: 0.51 forward, 1.10 backward, 0.20 update"; a phase that the meter cannot tell is left out.
std::string energy_line(const Record& r) {
  if (!r.energy->energy_j) return "";
  const auto batch = static_cast<double>(r.setting.batch);
  std::string text = fmt::format("{}: {} J a step", row_name(r), format_significant(*r.energy->energy_j * batch));
  if (r.energy->energy_net_j)
    text += fmt::format(", {} above idle", format_significant(*r.energy->energy_net_j * batch));
  const std::pair<const char*, std::optional<double>> phases[] = {{"forward", r.training->forward_energy_j},
                                                                  {"backward", r.training->backward_energy_j},
                                                                  {"update", r.training->optimizer_energy_j}};
  for (const auto& [phase, energy_j] : phases) {
    if (energy_j) text += fmt::format(", {} {}", phase, format_significant(*energy_j * batch));
  }
  if (r.energy->energy_short_share.value_or(0) > 0)
    text += fmt::format("; {:.0f} % of the steps are too short for the meter", 100 * *r.energy->energy_short_share);
  return indented(text);
}

std::string energy_notes(std::span<const Record> records) {
  std::string text;
  for (const Record& record : records) {
    if (record.latency->samples > 0 && text.empty()) text = indented(record.energy->energy_status);
  }
  for (const Record& record : records) text += energy_line(record);
  return text.empty() ? "" : "Energy\n" + text + "\n";
}

std::string trust_notes(std::span<const Record> records) {
  std::string text;
  for (const Record& record : records) {
    if (!record.grade.trust || *record.grade.trust == "A") continue;
    for (const std::string& reason : record.grade.trust_reasons)
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
  return a.setting.model == b.setting.model && a.setting.batch == b.setting.batch && a.setting.mode == b.setting.mode;
}

std::string table(std::span<const Record> records) {
  std::vector<Row> rows;
  for (const Record& record : records) {
    Row& row = rows.emplace_back();
    const bool measured = record.training->step_ms.has_value() && record.outcome.status != Status::not_finite;
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
      shown += fmt::format("  {}: {}\n", name(records[i].outcome.status),
                           terminal_text(records[i].outcome.reason.value_or("no reason was given")));
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
        terminal_text(r.setting.model), format_count(r.setting.parameters), r.setting.batch, name(r.setting.mode),
        terminal_text(r.setting.recompute), terminal_text(r.setting.device), r.setting.threads);
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
    text += fmt::format(
        "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |\n",
        markdown_cell(r.setting.model), r.setting.seq, plain(r.training->mean_forward_ms),
        plain(r.training->std_forward_ms), plain(r.training->mean_backward_ms), plain(r.training->std_backward_ms),
        plain(r.training->mean_optimizer_ms), plain(r.training->std_optimizer_ms), plain(r.training->mean_step_ms),
        plain(r.training->std_step_ms), name(r.outcome.status), markdown_cell(r.setting.precision),
        markdown_cell(r.setting.device), r.setting.batch, r.setting.fusion, r.setting.warmup_steps.value_or(0));
  }
  return text;
}

}  // namespace assay
