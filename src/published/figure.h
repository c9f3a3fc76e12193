#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rules/range.h"

namespace assay {

/// What a unit measures; the factor beside it leads to the base unit in parentheses.
enum class Dimension : std::uint8_t {
  none,
  time,        ///< (ms)
  energy,      ///< (J)
  power,       ///< (W)
  bytes,       ///< (bytes)
  rate,        ///< Samples a second.
  token_rate,  ///< Tokens a second.
  tops,        ///< 10^12 operations a second.
  percent,     ///< (share)
  ratio,       ///< "4.6x".
  bandwidth    ///< 10^9 bytes a second.
};
struct Unit {
  Dimension dimension = Dimension::none;
  double factor = 1;
};
/// "ms", "s", "µs", "mJ", "W", "MB", "GiB", "samp/s", "tok/s", "%", "x"; none for what is no unit.
std::optional<Unit> read_unit(std::string_view text);

/// "ms" of the unit that has this dimension and factor; empty for none.
std::string unit_name(Unit unit);

/// A number as a cell prints it.
struct PrintedFigure {
  double value = 0;
  Range range;                   ///< By the digits that were printed, or what the cell says: "0.5-0.7".
  std::optional<double> spread;  ///< Behind ±.
  Range spread_range;
  Unit unit;              ///< dimension none: the cell names none.
  int significant = 0;    ///< Digits printed.
  bool is_about = false;  ///< "~0.7".
  std::string text;       ///< As printed.
  std::string behind;     ///< What follows number and unit: "5.5% faster".
};
/// The figure multiplied by its unit's factor, spread and ranges too.
PrintedFigure in_base_unit(PrintedFigure figure);

/// A cell without emphasis, links, footnote marks, tags and emoji, its blanks single.
std::string plain_text(std::string_view cell);

/// The figure that a cell holds, or none for words, "N/A", "OOM", "-", and for bounds ("< 10").
/// Reads "~0.7ms", "**4.6x**", "370mJ", "0.024990±0.003563", "1,234.5", "3.4 ms (5 % faster)", "1.2e-3", "40-50 mJ".
std::optional<PrintedFigure> read_figure(std::string_view cell);

/// A figure in a text, and where it stands.
struct FigureInText {
  std::size_t from = 0;
  std::size_t to = 0;
  PrintedFigure figure;
};
/// Every number of the text that begins a word or follows a sign.
std::vector<FigureInText> figures_in(const std::string& text);

}  // namespace assay
