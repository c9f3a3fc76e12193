#include "report/draw/scales.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace assay {
namespace {

constexpr double row_height = 30;         ///< Of a category that several series share.
constexpr double heat_row_height = 18;    ///< Of a row with numbers in it.
constexpr double most_left_share = 0.35;  ///< Of the width that names of categories may take.

/// What one axis has to show.
struct Extent {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void take(double value) {
    if (!std::isfinite(value)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool is_empty() const { return high < low; }
};

/// Which of the two axes is looked at.
struct Direction {
  const Figure::Axis& axis;
  double Figure::Point::*coordinate;
  bool is_measured;
};

bool starts_at_zero(FigureKind kind) {
  return kind == FigureKind::bars || kind == FigureKind::timeline || kind == FigureKind::flame ||
         kind == FigureKind::steps;
}

bool has_loose_marks(FigureKind kind) {
  return kind == FigureKind::scatter || kind == FigureKind::dots;
}

/// Room for marks and names around what lies furthest out.
Extent padded(Extent extent, bool is_logarithmic) {
  if (extent.is_empty()) return extent;
  if (is_logarithmic) {
    const double factor = std::pow(extent.high / extent.low, 0.1);
    return {extent.low / factor, extent.high * factor};
  }
  const double margin = 0.1 * (extent.high - extent.low);
  return {extent.low - margin, extent.high + margin};
}

void take_points(Extent& extent, const Direction& along, const Figure::Series& series) {
  const bool is_logarithmic = along.axis.scale == Figure::Scale::logarithmic;
  for (const Figure::Point& point : series.points) {
    if (is_logarithmic && point.*along.coordinate <= 0) continue;
    extent.take(point.*along.coordinate);
    if (!along.is_measured) continue;
    if (point.low && (!is_logarithmic || *point.low > 0)) extent.take(*point.low);
    if (point.high) extent.take(*point.high);
  }
}

void take_flames(Extent& extent, const Direction& along, std::span<const Figure::Series> drawn) {
  for (const Figure::Series& series : drawn) {
    for (const Figure::Point& point : series.points)
      extent.take(point.*along.coordinate + (along.is_measured ? 1 : point.value.value_or(0)));
  }
}

/// What an axis says itself stands before what its points say.
void take_limits(Extent& extent, const Figure::Axis& axis) {
  const auto fits = [&](const std::optional<double>& limit) {
    return limit && std::isfinite(*limit) && (axis.scale == Figure::Scale::linear || *limit > 0);
  };
  if (fits(axis.low)) extent.low = *axis.low;
  if (fits(axis.high)) extent.high = *axis.high;
}

Extent extent_of(const Figure& figure, std::span<const Figure::Series> drawn, const Direction& along) {
  const std::size_t categories = along.axis.categories.size();
  if (categories > 0) return {-0.5, static_cast<double>(categories) - 0.5};
  Extent extent;
  const bool is_logarithmic = along.axis.scale == Figure::Scale::logarithmic;
  for (const Figure::Series& series : drawn) take_points(extent, along, series);
  for (const Figure::Series& series : figure.references) take_points(extent, along, series);
  if (figure.kind == FigureKind::flame) take_flames(extent, along, drawn);
  if (has_loose_marks(figure.kind)) extent = padded(extent, is_logarithmic && extent.low > 0);
  if (along.is_measured && starts_at_zero(figure.kind) && !is_logarithmic) extent.take(0);
  if (!extent.is_empty()) take_limits(extent, along.axis);
  return extent;
}

Axis axis_of(const Figure::Axis& axis, const Extent& extent, double begin, double end) {
  const bool is_logarithmic = axis.scale == Figure::Scale::logarithmic && extent.low > 0;
  AxisSpan span{extent.low, extent.high, begin, end, std::abs(end - begin) > 300 ? 6 : 4};
  if (is_logarithmic && extent.low == extent.high) span.low /= 2, span.high *= 2;
  return make_axis(is_logarithmic ? ScaleKind::logarithmic : ScaleKind::linear, span);
}

double width_of(Breadth breadth) {
  return breadth == Breadth::full ? 720 : breadth == Breadth::half ? 460 : 380;
}

/// As high as its categories, with room for their names on the left and for labels on the right.
ChartFrame lying_frame(const Figure& figure, ChartFrame frame) {
  const bool has_slots = figure.kind != FigureKind::scatter;
  double names = 0;
  for (const std::string& name : figure.y.categories) names = std::max(names, text_width(name));
  double labels = 0;
  for (const Figure::Series& series : figure.series) {
    for (const Figure::Point& point : series.points) labels = std::max(labels, text_width(point.label));
  }
  const double row = has_slots ? 13 * static_cast<double>(figure.series.size()) + 9 : row_height;
  frame.left_margin = std::min(names + 14, most_left_share * frame.width);
  frame.right_margin = std::max(frame.right_margin, std::min(labels + 10, most_left_share * frame.width));
  frame.height = frame.top_margin + row * static_cast<double>(figure.y.categories.size()) + frame.bottom_margin;
  return frame;
}

ChartFrame flame_frame(std::span<const Figure::Series> drawn, ChartFrame frame) {
  double rows = 1;
  for (const Figure::Series& series : drawn) {
    for (const Figure::Point& point : series.points) rows = std::max(rows, point.y + 1);
  }
  frame.width = 1080;
  frame.left_margin = 36;
  frame.height = frame.top_margin + rows * flame_height + frame.bottom_margin;
  return frame;
}

/// As high as its rows, each of which has numbers in it, with room for their names.
ChartFrame heat_frame(const Figure& figure, ChartFrame frame) {
  double names = 0;
  for (const std::string& name : figure.y.categories) names = std::max(names, text_width(name));
  frame.left_margin =
      std::clamp(names + (figure.y.title.empty() ? 14 : 30), frame.left_margin, most_left_share * frame.width);
  const double rows = heat_row_height * static_cast<double>(figure.y.categories.size());
  frame.height = std::max(frame.height, frame.top_margin + rows + frame.bottom_margin);
  return frame;
}

ChartFrame frame_of(const Figure& figure, std::span<const Figure::Series> drawn, Breadth breadth) {
  const ChartFrame frame = {.width = width_of(breadth),
                            .height = 300,
                            .left_margin = breadth == Breadth::full ? 76.0 : 62.0,
                            .right_margin = 16,
                            .top_margin = 16,
                            .bottom_margin = 52};
  if (figure.kind == FigureKind::flame) return flame_frame(drawn, frame);
  if (figure.kind == FigureKind::heat_map) return heat_frame(figure, frame);
  return lies(figure) ? lying_frame(figure, frame) : frame;
}

void draw_x_axis(Drawing& drawing, const Figure& figure, const Scales& scales) {
  const auto& [frame, x, y] = scales;
  const auto& names = figure.x.categories;
  const double room = (frame.right() - frame.left()) / static_cast<double>(std::max<std::size_t>(names.size(), 1));
  for (std::size_t i = 0; i < names.size(); ++i)
    drawing.text(x.at(static_cast<double>(i)), frame.bottom() + 16, Anchor::middle, fitted(names[i], room), "tick");
  for (const double tick : names.empty() ? x.ticks : std::vector<double>{}) {
    drawing.line(x.at(tick), frame.top(), x.at(tick), frame.bottom(), "grid");
    drawing.text(x.at(tick), frame.bottom() + 16, Anchor::middle, plain_number(tick), "tick");
  }
  drawing.text(frame.middle_x(), frame.height - 12, Anchor::middle, title_of(figure.x));
}

void draw_y_axis(Drawing& drawing, const Figure& figure, const Scales& scales) {
  const auto& [frame, x, y] = scales;
  const auto& names = figure.y.categories;
  const double room = frame.left() - (title_of(figure.y).empty() ? 8 : 24);
  for (std::size_t i = 0; i < names.size(); ++i)
    drawing.text(frame.left() - 6, y.at(static_cast<double>(i)) + 4, Anchor::end, fitted(names[i], room), "tick");
  const bool has_numbers = names.empty() && figure.kind != FigureKind::flame;
  for (const double tick : has_numbers ? y.ticks : std::vector<double>{}) {
    drawing.line(frame.left(), y.at(tick), frame.right(), y.at(tick), "grid");
    drawing.text(frame.left() - 6, y.at(tick) + 4, Anchor::end, plain_number(tick), "tick");
  }
  drawing.vertical_text(14, frame.middle_y(), title_of(figure.y));
}

}  // namespace

bool lies(const Figure& figure) {
  return !figure.y.categories.empty() && (figure.kind == FigureKind::bars || has_loose_marks(figure.kind));
}

double measured(const Figure& figure, const Figure::Point& point) {
  return lies(figure) ? point.x : point.y;
}

bool is_number(const Figure& figure, const Figure::Point& point) {
  const double value = measured(figure, point);
  const Figure::Scale scale = lies(figure) ? figure.x.scale : figure.y.scale;
  return std::isfinite(value) && (scale == Figure::Scale::linear || value > 0);
}

std::string title_of(const Figure::Axis& axis) {
  return axis.unit.empty() ? axis.title : axis.title + ", " + axis.unit;
}

std::optional<Scales> scales_of(const Figure& figure, std::span<const Figure::Series> drawn, Breadth breadth) {
  const Extent of_x = extent_of(figure, drawn, {figure.x, &Figure::Point::x, lies(figure)});
  const Extent of_y = extent_of(figure, drawn, {figure.y, &Figure::Point::y, !lies(figure)});
  const bool has_points = std::any_of(drawn.begin(), drawn.end(), [&](const Figure::Series& series) {
    return std::any_of(series.points.begin(), series.points.end(),
                       [&](const Figure::Point& point) { return is_number(figure, point); });
  });
  if (!has_points || of_x.is_empty() || of_y.is_empty()) return std::nullopt;
  const ChartFrame frame = frame_of(figure, drawn, breadth);
  const bool has_rows = !figure.y.categories.empty();  // They are read from the top.
  return Scales{
      frame, axis_of(figure.x, of_x, frame.left(), frame.right()),
      axis_of(figure.y, of_y, has_rows ? frame.top() : frame.bottom(), has_rows ? frame.bottom() : frame.top())};
}

void draw_axes(Drawing& drawing, const Figure& figure, const Scales& scales) {
  draw_x_axis(drawing, figure, scales);
  draw_y_axis(drawing, figure, scales);
}

}  // namespace assay
