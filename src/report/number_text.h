#pragma once

#include <span>
#include <string>

#include "results/table.h"

namespace assay {

// The one place where numbers of tables become text.

/// As the column says; "nan", "inf" and "-inf" where it is no number.
std::string number_text(double value, const Table::Column& column);

/// A cell for people: "-" where there is nothing, "12.3 [12.1, 12.6]" or "12.3 ±2.0%" with an interval, "yes" or "no",
/// "oom".
std::string cell_text(const Table::Cell& cell, const Table::Column& column);

/// Between which values a curve is drawn.
struct CurveRange {
  double low = 0;
  double high = 1;
};
/// Of its finite values; 0 to 1 where it has none.
CurveRange range_of(std::span<const double> curve);
/// A curve in 24 blocks of eight heights; "^": above the range, "x": not finite.
std::string curve_text(std::span<const double> curve, const CurveRange& range);

/// "forward, ms": the title with its unit, where cells do not name it themselves.
std::string heading_of(const Table::Column& column);

}  // namespace assay
