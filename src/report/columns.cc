#include "report/columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/units.h"
#include "report/mode_words.h"
#include "report/text.h"
#include "results/identity.h"

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
  if (!record.latency->median_ms) return absent;
  const std::string median = format_significant(*record.latency->median_ms);
  if (!record.latency->ci_low_ms || !record.latency->ci_high_ms) return median + " ±?";
  const double half_width =
      50 * (*record.latency->ci_high_ms - *record.latency->ci_low_ms) / *record.latency->median_ms;
  return fmt::format("{} ±{:.{}f}%", median, half_width, half_width < 9.95 ? 1 : 0);
}

std::string speedup(const Record& record) {
  if (!record.speedup->speedup) return absent;
  if (!record.speedup->speedup_low || !record.speedup->speedup_high ||
      record.setting.precision == record.setting.baseline)
    return ratio_text(*record.speedup->speedup);
  return fmt::format("{} [{}, {}]", ratio_text(*record.speedup->speedup), ratio_text(*record.speedup->speedup_low),
                     ratio_text(*record.speedup->speedup_high));
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
  if (record.energy->energy_j)
    return figure(*record.energy->energy_j) + (record.energy->energy_short_share.value_or(0) > 0 ? "!" : "");
  return record.energy->energy_status.starts_with("no meter") ? "no meter" : absent;
}

std::string quality(const Record& record) {
  if (record.quality->perplexity)
    return *record.quality->perplexity < 1e4 ? format_significant(*record.quality->perplexity, 4)
                                             : scientific(*record.quality->perplexity);
  if (record.quality->log_perplexity)
    return fmt::format("e^{:.0f}", *record.quality->log_perplexity);  // Beyond what f64 holds.
  if (record.difference->score_difference)
    return *record.difference->score_difference == 0 ? "0" : scientific(*record.difference->score_difference);
  if (record.quality->accuracy) return fmt::format("{:.2f}%", 100 * *record.quality->accuracy);
  return record.quality->quality_status.starts_with("random") ? "random" : absent;
}

/// "0.99998": 1 only where it is 1.
std::string correlation(double value) {
  return value == 1 ? "1" : fmt::format("{:.5f}", std::trunc(value * 1e5) / 1e5);
}

std::string divergence(const Record& record) {
  if (record.difference->score_pearson) return correlation(*record.difference->score_pearson);
  if (!record.difference->kl_mean) return absent;
  return *record.difference->kl_mean == 0 ? "0" : scientific(*record.difference->kl_mean);
}

std::string agreement(const Record& record) {
  if (record.difference->score_spearman) return correlation(*record.difference->score_spearman);
  if (!record.difference->top1_agreement) return absent;
  // 99.98 % must not read as 100: that figure is kept for full agreement.
  const double percent = 100 * *record.difference->top1_agreement;
  return percent == 100 ? "100" : fmt::format("{:.1f}", std::min(percent, 99.9));
}

bool gives_scores(const Record& record) {
  return std::string_view(quality_kind(record)) == "scores";
}

std::string trust(const Record& record) {
  return record.grade.trust.value_or(absent);
}

/// "native bf16", "native f16/f16": the verdict first, since the end is what a narrow table cuts; the accumulator where
/// it is not the widest of its kind.
std::string ran(const Record& record) {
  const LedgerRow* row = dominant_row(record.evidence.ledger);
  if (row == nullptr) return "";
  const std::string text = fmt::format("{} {}", name(row->verdict), name(row->operand));
  return size_of(row->accumulator) < 4 ? text + "/" + name(row->accumulator) : text;
}

constexpr Column columns[] = {
    {"\nprecision", Align::left, Cut::if_needed, shown_precision},
    {"latency ms\n± 95 %", Align::right, Cut::never, latency},
    {"speed-up\n[95 %]", Align::left, Cut::never, speedup},
    {"{}\n/s", Align::right, Cut::never, [](const Record& r) { return rate(r.rates.tokens_per_s); }},
    {"GFLOP\n/s", Align::right, Cut::never, [](const Record& r) { return rate(r.rates.gflops); }},
    {"of\npeak", Align::right, Cut::never, [](const Record& r) { return share(r.rates.peak_share); }},
    {"energy\nJ", Align::right, Cut::never, energy},
    {"peak\nMB", Align::right, Cut::never, [](const Record& r) { return megabytes(r.memory->peak_bytes); }},
    {"size\nMB", Align::right, Cut::never, [](const Record& r) { return megabytes(r.memory->model_bytes); }},
    {"qual-\nity", Align::right, Cut::never, quality, "differ-\nence"},
    {"KL\nnat", Align::right, Cut::never, divergence, "Pear-\nson"},
    {"top-1\n%", Align::right, Cut::never, agreement, "Spear-\nman"},
    {"\nran", Align::left, Cut::if_needed, ran},
    {"\ntrust", Align::left, Cut::never, trust},
};

std::string phase_title(const Record& record) {
  const std::string title = "phase " + *record.setting.phase;
  if (!record.latency->items || record.latency->timed_runs.value_or(0) <= 0) return title;
  const std::int64_t items = std::llround(*record.latency->items / static_cast<double>(*record.latency->timed_runs));
  return fmt::format("{}, {} item{} a time", title, format_count(items), items == 1 ? "" : "s");
}

}  // namespace

std::string shown_precision(const Record& record) {
  return record.setting.precision + (record.setting.phase ? ", " + *record.setting.phase : "") +
         (record.outcome.restored ? "*" : "");
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
  if (record.setting.phase) return phase_title(record);
  if (record.setting.mode == Mode::program) return "a run of the program";
  return fmt::format("batch {} x {} tokens", record.setting.batch, record.setting.seq);
}

std::string model_title(const Record& record) {
  std::string title = record.setting.model;
  if (record.setting.parameters > 0) {
    title +=
        fmt::format(" ({} parameters, {})", format_count(record.setting.parameters),
                    record.setting.weights == "random" ? "random weights" : "stored as " + record.setting.stored_dtype);
  }
  title += fmt::format(", {}, {} thread{}", record.setting.device, record.setting.threads,
                       record.setting.threads == 1 ? "" : "s");
  const bool is_model = record.setting.logits != "-";
  if (is_model) title += fmt::format(", logits {}, fusion {}", record.setting.logits, record.setting.fusion);
  if (is_model && record.setting.casts != "once") title += ", casts " + record.setting.casts;
  if (record.setting.graphs == "off") title += ", graphs off";
  if (record.setting.caches != "warm") title += ", caches " + record.setting.caches;
  const std::string mode = mode_title(record);
  return mode.empty() ? title : title + ", " + mode;
}

Together relation(const Record& a, const Record& b) {
  if (!stand_together(a, b, Level::title)) return Together::apart;
  return stand_together(a, b, Level::cell) ? Together::same_cell : Together::same_model;
}

Records under_one_title(std::span<const Record> records, const Record& first) {
  Records together;
  for (const Record& record : records) {
    if (relation(first, record) != Together::apart) together.push_back(&record);
  }
  return together;
}

}  // namespace assay
