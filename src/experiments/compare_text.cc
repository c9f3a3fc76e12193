#include <fmt/format.h>

#include "base/json.h"
#include "base/printable.h"
#include "base/units.h"
#include "experiments/compare.h"

namespace assay {
namespace {

constexpr std::size_t longest = 2000;

/// Names and reasons may come from a store of others: nothing in them reaches the terminal as a command.
std::string shown(const std::string& text) {
  return printable(text, longest);
}

std::string percent(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

std::string p_text(double p) {
  return p < 0.0001 ? "<0.0001" : fmt::format("{:.4f}", p);
}

std::string verdict(const Comparison& cell, const CompareOptions& options) {
  std::string text = name(cell.relation);
  if (cell.relation == Relation::cannot_tell) text += ": " + shown(cell.reason);
  if (cell.more) text += fmt::format("; some {} more samples a side would tell", format_count(*cell.more));
  if (cell.fails) text += fmt::format(", and by more than the {} allowed", percent(*options.allowed));
  return text;
}

std::string figures(const Comparison& cell) {
  if (!cell.ratio) return "";
  const std::string interval =
      cell.ratio->interval ? fmt::format(" [{:.3f}, {:.3f}]", cell.ratio->interval->low, cell.ratio->interval->high)
                           : "";
  return fmt::format("  A {} ms ({}), B {} ms ({}): B/A {:.3f}{}, {} {:.1f}, p {}{}, delta {:+.2f}\n",
                     format_significant(median(cell.a_ms)), cell.a_ms.size(), format_significant(median(cell.b_ms)),
                     cell.b_ms.size(), cell.ratio->value, interval, cell.drawn == Drawn::by_round ? "W" : "U",
                     cell.test.statistic, p_text(cell.adjusted_p), cell.test.is_exact ? "" : " (normal)", cell.delta);
}

OrderedJson cell_json(const Comparison& cell) {
  std::optional<double> value, low, high, a_ms, b_ms;
  if (cell.ratio) {
    value = cell.ratio->value;
    a_ms = median(cell.a_ms);
    b_ms = median(cell.b_ms);
    if (cell.ratio->interval) low = cell.ratio->interval->low, high = cell.ratio->interval->high;
  }
  OrderedJson json = {{"subject", cell.subject},
                      {"verdict", name(cell.relation)},
                      {"reason", nullptr},
                      {"a_median_ms", or_null(a_ms)},
                      {"b_median_ms", or_null(b_ms)},
                      {"a_samples", cell.a_ms.size()},
                      {"b_samples", cell.b_ms.size()},
                      {"ratio", or_null(value)},
                      {"ratio_low", or_null(low)},
                      {"ratio_high", or_null(high)},
                      {"test", cell.drawn == Drawn::by_round ? "Wilcoxon signed-rank" : "Mann-Whitney"},
                      {"statistic", cell.test.statistic},
                      {"p", cell.test.p},
                      {"adjusted_p", cell.adjusted_p},
                      {"is_exact", cell.test.is_exact},
                      {"cliffs_delta", cell.delta},
                      {"more_samples", nullptr},
                      {"fails", cell.fails}};
  if (!cell.reason.empty()) json["reason"] = cell.reason;
  if (cell.more) json["more_samples"] = *cell.more;
  return json;
}

}  // namespace

std::string comparison_text(const ComparisonReport& report, const CompareOptions& options) {
  std::string text = fmt::format("A: {}\nB: {}\n\n", shown(report.a), shown(report.b));
  for (const Comparison& cell : report.cells) {
    text += fmt::format("{}: {}\n{}", shown(cell.subject), verdict(cell, options), figures(cell));
  }
  const bool is_by_round = !report.cells.empty() && report.cells.front().drawn == Drawn::by_round;
  text += fmt::format(
      "\n  B/A: ratio of medians with its 95 % interval (bootstrap); above 1, B is slower\n"
      "  {}, p adjusted for {} comparisons (Benjamini-Hochberg); delta: Cliff's\n"
      "  same: the interval lies within 1 ± {}; faster, slower: it lies clear of 1, and p is below 0.05\n",
      is_by_round ? "W, p: Wilcoxon's signed ranks of the rounds" : "U, p: Mann-Whitney", report.cells.size(),
      percent(margin_of(options)));
  for (const std::string& note : report.notes) text += fmt::format("  {}\n", shown(note));
  return text;
}

OrderedJson comparison_json(const ComparisonReport& report, const CompareOptions& options) {
  OrderedJson cells = OrderedJson::array();
  for (const Comparison& cell : report.cells) cells.push_back(cell_json(cell));
  return {{"a", report.a},
          {"b", report.b},
          {"margin", margin_of(options)},
          {"allowed", or_null(options.allowed)},
          {"fails", report.fails()},
          {"cells", std::move(cells)},
          {"notes", report.notes}};
}

}  // namespace assay
