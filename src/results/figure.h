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
  bars,      ///< From zero to y, side by side within category x; or from zero to x within category y.
  boxes,     ///< Each point is a sample of category x: median, quartiles and extremes of each series are drawn.
  heat_map,  ///< A field for each point, in category x and category y; its colour is `value`.
  timeline,  ///< Staircases, y from x on to the next point, each series on top of those before it.
  flame,     ///< A rectangle from x on, `value` wide, in row y (0: the lowest), with its label.
  steps,     ///< A line for each series, which keeps y from x on to the next point.
  dots       ///< As bars, a mark instead of each: where zero is far away and differences are small.
};
inline constexpr int figure_kinds = static_cast<int>(FigureKind::dots) + 1;
const char* name(FigureKind kind);

/// A chart as data: what is drawn, not how.
struct Figure {
  enum class Scale : std::uint8_t { linear, logarithmic };

  /// What of a series stands at its points, where its kind draws points.
  enum class Mark : std::uint8_t {
    filled,   ///< A mark, and its interval.
    dot,      ///< A small one, for many points.
    whisker,  ///< The interval alone.
    band      ///< The interval as an area.
  };

  struct Axis {
    std::string title = {};
    std::string unit = {};
    Scale scale = Scale::linear;
    std::vector<std::string> categories = {};  ///< Where values count them from 0, on y from the top.
    std::optional<double> low = {};            ///< Points below stand at the edge.
    std::optional<double> high = {};           ///< Points above stand at the edge.
  };

  /// With categories on the y axis, x is what was measured, else y. Where that is no number, the label stands alone.
  struct Point {
    double x = 0;
    double y = 0;
    std::optional<double> low = {};  ///< Ends of the 95 % interval of what was measured.
    std::optional<double> high = {};
    std::optional<double> value = {};
    std::string label = {};  ///< Stands beside it, where there is room.
    std::string words = {};  ///< All that is to be said of it; empty: series, label and coordinates.
    bool is_hollow = false;  ///< Set apart from the others of its series.
    bool is_faint = false;   ///< Little is to be built on it.
  };

  struct Series {
    std::string name = {};
    std::vector<Point> points = {};
    Mark mark = Mark::filled;
  };

  FigureKind kind = FigureKind::lines;
  std::string key = {};
  std::string caption = {};
  std::string legend = {};  ///< Sentences below it: how it is to be read.
  std::string reason = {};  ///< Why there is nothing to draw, where there is nothing.
  Axis x = {};
  Axis y = {};
  std::vector<Series> series = {};
  std::vector<Series> references = {};  ///< Lines that points are compared with: a limit, a roof, a front.
  Detail detail = Detail::brief;
};
inline constexpr int figure_marks = static_cast<int>(Figure::Mark::band) + 1;
const char* name(Figure::Scale scale);
const char* name(Figure::Mark mark);

}  // namespace assay
