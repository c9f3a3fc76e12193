#include "report/number_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/units.h"
#include "report/phrases.h"
#include "statistics/statistics.h"

namespace assay {
namespace {

/// Beyond it, neighbouring whole numbers are one double.
constexpr double whole_limit = 9007199254740992.0;

/// In percent: one decimal below 10.
std::string share_text(double share) {
  return fmt::format("{:.{}f}", 100 * share, share < 0.0995 ? 1 : 0);
}

/// "1.2e-5": the exponent without padding.
std::string scientific_text(double value, int digits) {
  if (value == 0) return "0";
  std::string text = fmt::format("{:.{}e}", value, digits);
  const auto exponent = text.find('e') + 2;
  const auto first = std::min(text.find_first_not_of('0', exponent), text.size() - 1);
  text.erase(exponent, first - exponent);
  if (text[exponent - 1] == '+') text.erase(exponent - 1, 1);
  return text;
}

std::string finite_text(double value, const Table::Column& column) {
  const int digits = column.digits;
  switch (column.notation) {
    case Notation::exact:
      return fmt::format("{}", value);
    case Notation::significant:
      return format_significant(value, digits);
    case Notation::fixed:
      return fmt::format("{:.{}f}", value, digits);
    case Notation::general:
      return fmt::format("{:.{}g}", value, digits);
    case Notation::scientific:
      return scientific_text(value, digits);
    case Notation::count:
      return std::abs(value) < whole_limit ? format_count(std::llround(value)) : fmt::format("{}", value);
    case Notation::bytes:
      return format_bytes(value);
    case Notation::percent:
      return fmt::format("{:.{}f} %", 100 * value, digits);
  }
  return "";
}

std::string estimate_text(const Estimate& estimate, const Table::Column& column) {
  const double half_width = (estimate.high - estimate.low) / 2;
  const bool one_sided = is_lopsided(estimate.value, {estimate.low, estimate.high});
  if (column.spread == Spread::half_width && !one_sided)
    return fmt::format("{} ± {}", number_text(estimate.value, column), format_significant(half_width, 2));
  if (column.spread == Spread::percent && !one_sided)
    return fmt::format("{} ±{}%", number_text(estimate.value, column), share_text(half_width / estimate.value));
  return fmt::format("{} [{}, {}]", number_text(estimate.value, column), number_text(estimate.low, column),
                     number_text(estimate.high, column));
}

struct TextOfCell {
  const Table::Column& column;

  std::string operator()(const Absent&) const { return "-"; }
  std::string operator()(const std::string& text) const { return text; }
  std::string operator()(bool value) const { return value ? "yes" : "no"; }
  std::string operator()(std::int64_t value) const { return whole(value); }
  std::string operator()(std::uint64_t value) const { return whole(value); }
  std::string operator()(double value) const { return number_text(value, column); }
  std::string operator()(const Estimate& estimate) const { return estimate_text(estimate, column); }
  std::string operator()(const RowStatus& row) const { return name(row.status); }
  std::string operator()(const std::vector<std::string>& words) const {
    return fmt::format("{}", fmt::join(words, ", "));
  }
  std::string operator()(const std::vector<std::int64_t>& numbers) const {
    return fmt::format("{}", fmt::join(numbers, ", "));
  }
  std::string operator()(const std::vector<double>& curve) const { return curve_text(curve, range_of(curve)); }

  /// Whole numbers lose no digit where the column does not group or scale them.
  template <typename T>
  std::string whole(T value) const {
    const bool is_scaled = column.notation == Notation::bytes || column.notation == Notation::percent;
    if (is_scaled || column.notation == Notation::count) return number_text(static_cast<double>(value), column);
    return std::to_string(value);
  }
};

}  // namespace

std::string number_text(double value, const Table::Column& column) {
  if (std::isnan(value)) return "nan";  // Its sign means nothing.
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  const std::string text = finite_text(value, column);
  return column.sign == Sign::always && !std::signbit(value) ? "+" + text : text;
}

CurveRange range_of(std::span<const double> curve) {
  CurveRange range{HUGE_VAL, -HUGE_VAL};
  for (const double value : curve) {
    if (!std::isfinite(value)) continue;
    range.low = std::min(range.low, value);
    range.high = std::max(range.high, value);
  }
  return range.low <= range.high ? range : CurveRange{};
}

std::string curve_text(std::span<const double> curve, const CurveRange& range) {
  constexpr const char* heights[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  constexpr std::size_t width = 24;
  const double spread = range.high - range.low;
  std::string text;
  for (std::size_t i = 0; i < std::min(width, curve.size()); ++i) {
    const double value = curve[i * curve.size() / std::min(width, curve.size())];
    const double share = spread > 0 ? (value - range.low) / spread : 0;
    if (!std::isfinite(value))
      text += "x";
    else if (share > 1.05)  // Rounding alone puts a curve's start a little above another's.
      text += "^";
    else
      text += heights[static_cast<std::size_t>(std::clamp(share * 7.999, 0.0, 7.0))];
  }
  return text;
}

std::string cell_text(const Table::Cell& cell, const Table::Column& column) {
  return std::visit(TextOfCell{column}, cell);
}

std::string heading_of(const Table::Column& column) {
  const std::string title = column.title.empty() ? column.key : column.title;
  const bool is_named_in_cells = column.notation == Notation::bytes || column.notation == Notation::percent;
  return column.unit.empty() || is_named_in_cells ? title : title + ", " + column.unit;
}

}  // namespace assay
