#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "results/table.h"

namespace assay {

enum class FigureKind : std::uint8_t {
  lines,     ///< A line through the points of each series.
  scatter,   ///< Points alone.
  bars,      ///< From zero to y, side by side within category x.
  boxes,     ///< Each point is a sample of category x: median, quartiles and extremes of each series are drawn.
  heat_map,  ///< A field for each point, in category x and category y; its colour is `value`.
  timeline,  ///< Staircases, y from x on to the next point, each series on top of those before it.
  flame      ///< A rectangle from x on, `value` wide, in row y (0: the lowest), with its label.
};
inline constexpr int figure_kinds = static_cast<int>(FigureKind::flame) + 1;
const char* name(FigureKind kind);

/// A chart as data: what is drawn, not how.
struct Figure {
  enum class Scale : std::uint8_t { linear, logarithmic };

  struct Axis {
    std::string title = {};
    std::string unit = {};
    Scale scale = Scale::linear;
    std::vector<std::string> categories = {};  ///< Where values count them from 0.
  };

  struct Point {
    double x = 0;
    double y = 0;
    std::optional<double> low = {};  ///< Ends of the 95 % interval of y.
    std::optional<double> high = {};
    std::optional<double> value = {};
    std::string label = {};
  };

  struct Series {
    std::string name = {};
    std::vector<Point> points = {};
  };

  FigureKind kind = FigureKind::lines;
  std::string key = {};
  std::string caption = {};
  Axis x = {};
  Axis y = {};
  std::vector<Series> series = {};
  Detail detail = Detail::brief;
};
const char* name(Figure::Scale scale);

}  // namespace assay
