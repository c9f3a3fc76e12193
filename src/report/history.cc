#include "report/history.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/json.h"
#include "base/printable.h"
#include "base/units.h"
#include "report/text.h"
#include "results/fields.h"
#include "statistics/statistics.h"

namespace assay {
namespace {

constexpr std::size_t widest = 120;
constexpr std::size_t longest_command = 4000;

/// A column of the table; all but the last are as wide as their widest cell.
struct HistoryColumn {
  const char* title;
  std::string (*cell)(const StoredRecord&);

  /// A store may come from others: nothing in it reaches the terminal as a command.
  std::string shown(const StoredRecord& record) const { return printable(cell(record), 4 * widest); }
};

std::string latency_text(const Latency& latency) {
  if (!latency.median_ms) return "no samples";
  const std::string median = format_significant(*latency.median_ms) + " ms";
  if (!latency.ci_low_ms || !latency.ci_high_ms) return median;
  const Interval interval{*latency.ci_low_ms, *latency.ci_high_ms};
  const std::string ends = fmt::format("[{}, {}]", format_significant(interval.low), format_significant(interval.high));
  if (leaves_no_figure(*latency.median_ms, interval)) return ends + " ms";
  if (is_lopsided(*latency.median_ms, interval)) return median + " " + ends;
  return fmt::format("{} ±{:.1f}%", median, 50 * (interval.high - interval.low) / *latency.median_ms);
}

std::string outcome(const StoredRecord& stored) {
  const Record& record = stored.record;
  if (record.outcome.status != Status::ok)
    return fmt::format("{}: {}", name(record.outcome.status), record.outcome.reason.value_or(""));
  std::string text = latency_text(*record.latency);
  if (record.speedup->speedup) text += fmt::format(", {:.2f}x", *record.speedup->speedup);
  text += std::string(", ") + (record.grade.trust ? name(*record.grade.trust) : "not graded");
  if (record.quality->perplexity)
    text += fmt::format(", perplexity {}", format_significant(*record.quality->perplexity, 4));
  if (record.quality->accuracy) text += fmt::format(", accuracy {:.1f} %", 100 * *record.quality->accuracy);
  if (record.difference->score_difference)
    text += fmt::format(", scores within {}", format_significant(*record.difference->score_difference, 2));
  return text;
}

constexpr HistoryColumn history_columns[] = {
    {"record", [](const StoredRecord& s) { return std::to_string(s.id); }},
    {"run", [](const StoredRecord& s) { return std::to_string(s.run); }},
    {"saved (UTC)", [](const StoredRecord& s) { return s.saved.substr(0, 16); }},
    {"model", [](const StoredRecord& s) { return cut(s.record.setting.model, 24); }},
    {"precision", [](const StoredRecord& s) { return cut(s.record.setting.precision, 16); }},
    {"device", [](const StoredRecord& s) { return s.record.setting.device; }},
    {"mode", [](const StoredRecord& s) { return std::string(name(s.record.setting.mode)); }},
    {"shape",
     [](const StoredRecord& s) { return fmt::format("{} x {}", s.record.setting.batch, s.record.setting.seq); }},
    {"result", outcome},
};

std::vector<std::size_t> column_widths(std::span<const StoredRecord> records) {
  std::vector<std::size_t> widths;
  for (const HistoryColumn& column : history_columns) {
    std::size_t width = display_width(column.title);
    for (const StoredRecord& record : records) width = std::max(width, display_width(column.shown(record)));
    widths.push_back(width);
  }
  return widths;
}

template <typename CellOf>
std::string line(const std::vector<std::size_t>& widths, CellOf&& cell_of) {
  std::string text;
  for (std::size_t i = 0; i < widths.size(); ++i) {
    text += (i ? "  " : "") + pad_right(cell_of(history_columns[i]), widths[i]);
  }
  text = cut(text, std::max(widest, std::size_t{1}));
  text.erase(text.find_last_not_of(' ') + 1);
  return text + "\n";
}

/// A value as CSV wants it: numbers and truth bare, texts quoted where they must be.
std::string csv_value(const OrderedJson& value) {
  if (value.is_null()) return "";
  return csv_field(value.is_string() ? value.get<std::string>() : value.dump());
}

}  // namespace

std::string history_table(std::span<const StoredRecord> records, std::span<const StoredRun> runs) {
  if (records.empty()) return "no record is like that\n";
  const std::vector<std::size_t> widths = column_widths(records);
  std::string text = line(widths, [](const HistoryColumn& column) { return std::string(column.title); });
  for (const StoredRecord& record : records) {
    text += line(widths, [&](const HistoryColumn& column) { return column.shown(record); });
  }
  text += "\n";
  for (const StoredRun& run : runs) {
    text += "  " +
            wrap(fmt::format("run {}, {}{}: {}", run.id, printable(run.started.substr(0, 19)),
                             run.ended ? "" : " (was ended before it was done, or still runs)",
                             printable(run.command, longest_command)),
                 widest - 2, 4) +
            "\n";
  }
  return text;
}

std::string history_csv(std::span<const StoredRecord> records) {
  std::string text = "record,run,saved";
  for (const Field& field : record_fields()) text += fmt::format(",{}", field.name);
  text += "\r\n";
  for (const StoredRecord& stored : records) {
    text += fmt::format("{},{},{}", stored.id, stored.run, stored.saved);
    const OrderedJson fields = to_json(stored.record);
    for (const auto& [name, value] : fields.items()) text += "," + csv_value(value);
    text += "\r\n";
  }
  return text;
}

}  // namespace assay
