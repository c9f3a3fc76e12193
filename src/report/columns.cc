#include "report/columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "base/units.h"
#include "report/mode_words.h"
#include "report/text.h"

namespace assay {
namespace {

const std::string absent = "-";

/// Three significant digits, thousands whole: "0.0123", "43.1", "2,974".
std::string figure(double value) {
  return std::abs(value) < 1000 ? format_significant(value) : format_count(std::llround(value));
}

/// The same in at most six columns: "123k", "1.23M".
std::string short_figure(double value) {
  if (value < 99999.5) return figure(value);
  return value < 999.5e3 ? format_significant(value / 1e3) + "k" : format_significant(value / 1e6) + "M";
}

std::string rate(const std::optional<double>& value) {
  return value ? short_figure(*value) : absent;
}

std::string megabytes(const std::optional<std::int64_t>& bytes) {
  return bytes ? short_figure(static_cast<double>(*bytes) / 1e6) : absent;
}

std::string latency(const Record& record) {
  if (!record.median_ms) return absent;
  const std::string median = format_significant(*record.median_ms);
  if (!record.ci_low_ms || !record.ci_high_ms) return median + " ±?";
  const double half_width = 50 * (*record.ci_high_ms - *record.ci_low_ms) / *record.median_ms;
  return fmt::format("{} ±{:.{}f}%", median, half_width, half_width < 9.95 ? 1 : 0);
}

std::string speedup(const Record& record) {
  if (!record.speedup) return absent;
  if (!record.speedup_low || !record.speedup_high || record.precision == record.baseline)
    return ratio_text(*record.speedup);
  return fmt::format("{} [{}, {}]", ratio_text(*record.speedup), ratio_text(*record.speedup_low),
                     ratio_text(*record.speedup_high));
}

/// "1.2e-5": two digits, the exponent without padding.
std::string scientific(double value) {
  std::string text = fmt::format("{:.1e}", value);
  if (const auto plus = text.find("e+"); plus != std::string::npos) text.erase(plus + 1, 1);
  for (const char* padded : {"e-0", "e0"}) {
    if (const auto at = text.find(padded); at != std::string::npos) text.erase(text.size() - 2, 1);
  }
  return text;
}

std::string share(const std::optional<double>& value) {
  return value ? fmt::format("{:.0f}%", 100 * *value) : absent;
}

std::string energy(const Record& record) {
  if (record.energy_j) return figure(*record.energy_j) + (record.energy_short_share.value_or(0) > 0 ? "!" : "");
  return record.energy_status.starts_with("no meter") ? "no meter" : absent;
}

std::string quality(const Record& record) {
  if (record.perplexity)
    return *record.perplexity < 1e4 ? format_significant(*record.perplexity, 4) : scientific(*record.perplexity);
  if (record.log_perplexity) return fmt::format("e^{:.0f}", *record.log_perplexity);  // Beyond what f64 holds.
  if (record.score_difference) return *record.score_difference == 0 ? "0" : scientific(*record.score_difference);
  if (record.accuracy) return fmt::format("{:.2f}%", 100 * *record.accuracy);
  return record.quality_status.starts_with("random") ? "random" : absent;
}

/// "0.99998": 1 only where it is 1.
std::string correlation(double value) {
  return value == 1 ? "1" : fmt::format("{:.5f}", std::trunc(value * 1e5) / 1e5);
}

std::string divergence(const Record& record) {
  if (record.score_pearson) return correlation(*record.score_pearson);
  if (!record.kl_mean) return absent;
  return *record.kl_mean == 0 ? "0" : scientific(*record.kl_mean);
}

std::string agreement(const Record& record) {
  if (record.score_spearman) return correlation(*record.score_spearman);
  if (!record.top1_agreement) return absent;
  // 99.98 % must not read as 100: that figure is kept for full agreement.
  const double percent = 100 * *record.top1_agreement;
  return percent == 100 ? "100" : fmt::format("{:.1f}", std::min(percent, 99.9));
}

bool gives_scores(const Record& record) {
  return std::string_view(quality_kind(record)) == "scores";
}

std::string trust(const Record& record) {
  return record.trust.value_or(absent);
}

/// "native bf16", "native f16/f16": the verdict first, since the end is what a narrow table cuts; the accumulator where
/// it is not the widest of its kind.
std::string ran(const Record& record) {
  const LedgerRow* row = dominant_row(record);
  if (row == nullptr) return "";
  const std::string text = fmt::format("{} {}", name(row->verdict), name(row->operand));
  return size_of(row->accumulator) < 4 ? text + "/" + name(row->accumulator) : text;
}

constexpr Column columns[] = {
    {"\nprecision", Align::left, Cut::if_needed, shown_precision},
    {"latency ms\n± 95 %", Align::right, Cut::never, latency},
    {"speed-up\n[95 %]", Align::left, Cut::never, speedup},
    {"{}\n/s", Align::right, Cut::never, [](const Record& r) { return rate(r.tokens_per_s); }},
    {"GFLOP\n/s", Align::right, Cut::never, [](const Record& r) { return rate(r.gflops); }},
    {"of\npeak", Align::right, Cut::never, [](const Record& r) { return share(r.peak_share); }},
    {"energy\nJ", Align::right, Cut::never, energy},
    {"peak\nMB", Align::right, Cut::never, [](const Record& r) { return megabytes(r.peak_bytes); }},
    {"size\nMB", Align::right, Cut::never, [](const Record& r) { return megabytes(r.model_bytes); }},
    {"qual-\nity", Align::right, Cut::never, quality, "differ-\nence"},
    {"KL\nnat", Align::right, Cut::never, divergence, "Pear-\nson"},
    {"top-1\n%", Align::right, Cut::never, agreement, "Spear-\nman"},
    {"\nran", Align::left, Cut::if_needed, ran},
    {"\ntrust", Align::left, Cut::never, trust},
};

auto model_key(const Record& r) {
  return std::tie(r.model, r.weights, r.device, r.threads, r.logits, r.fusion, r.casts, r.mode, r.phase, r.recompute,
                  r.warmup_steps, r.graphs, r.caches);
}

std::string phase_title(const Record& record) {
  const std::string title = "phase " + *record.phase;
  if (!record.items || record.timed_runs.value_or(0) <= 0) return title;
  const std::int64_t items = std::llround(*record.items / static_cast<double>(*record.timed_runs));
  return fmt::format("{}, {} item{} a time", title, format_count(items), items == 1 ? "" : "s");
}

}  // namespace

std::string shown_precision(const Record& record) {
  return record.precision + (record.phase ? ", " + *record.phase : "") + (record.restored ? "*" : "");
}

std::string title_of(const Column& column, const Records& rows) {
  const bool scores = std::any_of(rows.begin(), rows.end(), [](const Record* row) { return gives_scores(*row); });
  return with_rates(scores && column.title_of_scores != nullptr ? column.title_of_scores : column.title, rows);
}

std::string one_line_title(const Column& column, const Records& rows) {
  std::string text = title_of(column, rows);
  std::replace(text.begin(), text.end(), '\n', ' ');
  if (const auto hyphen = text.find("- "); hyphen != std::string::npos) text.erase(hyphen, 2);
  return text.front() == ' ' ? text.substr(1) : text;
}

std::span<const Column> table_columns() {
  return columns;
}

std::string cell_title(const Record& record) {
  if (record.phase) return phase_title(record);
  if (record.mode == "program") return "a run of the program";
  return fmt::format("batch {} x {} tokens", record.batch, record.seq);
}

std::string model_title(const Record& record) {
  std::string title = record.model;
  if (record.parameters > 0) {
    title += fmt::format(" ({} parameters, {})", format_count(record.parameters),
                         record.weights == "random" ? "random weights" : "stored as " + record.stored_dtype);
  }
  title += fmt::format(", {}, {} thread{}", record.device, record.threads, record.threads == 1 ? "" : "s");
  const bool is_model = record.logits != "-";
  if (is_model) title += fmt::format(", logits {}, fusion {}", record.logits, record.fusion);
  if (is_model && record.casts != "once") title += ", casts " + record.casts;
  if (record.graphs == "off") title += ", graphs off";
  if (record.caches != "warm") title += ", caches " + record.caches;
  const std::string mode = mode_title(record);
  return mode.empty() ? title : title + ", " + mode;
}

Together relation(const Record& a, const Record& b) {
  if (model_key(a) != model_key(b)) return Together::apart;
  return a.batch == b.batch && a.seq == b.seq ? Together::same_cell : Together::same_model;
}

Records under_one_title(std::span<const Record> records, const Record& first) {
  Records together;
  for (const Record& record : records) {
    if (relation(first, record) != Together::apart) together.push_back(&record);
  }
  return together;
}

}  // namespace assay
