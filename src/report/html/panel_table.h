#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "report/draw/plot.h"
#include "report/subject.h"

namespace assay {

/// One figure with its 95 % interval, where it has one.
struct FigurePoint {
  double value = 0;
  std::optional<double> low = {};
  std::optional<double> high = {};
};

enum class FigureForm : std::uint8_t {
  bars,    ///< From zero.
  points,  ///< Where zero is far away and differences are small.
};

struct FigurePanel {
  const char* title;
  const char* unit;    ///< Empty: what the quality is measured by; "{}": what is counted a second.
  const char* better;  ///< Which direction is better; empty: as the unit says.
  const char* bars_mean;
  FigureForm form;
  std::optional<FigurePoint> (*point)(const Record& record);
  std::string (*why_none)(const Record& record);
  std::string (*text)(double value) = plain_number;
  std::optional<double> reference = {};  ///< A line across all rows.
};

/// The six panels, in their order.
std::span<const FigurePanel> figure_panels();
/// The unit of its axis.
std::string unit_of(const FigurePanel& panel, std::span<const ReportSubject> group);
/// "lower is better".
const char* better_of(const FigurePanel& panel, std::span<const ReportSubject> group);

}  // namespace assay
