#include "report/draw/marks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/draw/labels.h"
#include "statistics/statistics.h"

namespace assay {
namespace {

constexpr std::size_t colours = 8;  ///< As many as the style has.
constexpr double band_height = 22;

using Points = std::vector<Figure::Point>;

/// What is drawn, and where.
struct Chart {
  Drawing& drawing;
  const Figure& figure;
  const Scales& scales;
};

std::string style_of(const char* letter, std::size_t series) {
  return fmt::format("{}{}", letter, series % colours);
}

/// What lies beyond an axis stands at its edge.
double at_edge(const Axis& axis, double value) {
  return axis.at(std::clamp(value, axis.low, axis.high));
}

/// Where a series stands within its category: side by side, a fifth of the room left free.
struct Slot {
  double left;
  double width;
};
Slot slot_of(double category, std::size_t number, std::size_t count, const Axis& x) {
  const double room = 0.8 * std::abs(x.at(1) - x.at(0));
  const double width = room / static_cast<double>(count);
  return {x.at(category) - room / 2 + width * static_cast<double>(number), width};
}

/// Where a point lies, and how thick its bar is.
struct Spot {
  double x;
  double y;
  double width = 0;
};
Spot spot_of(const Chart& chart, const Figure::Point& point, std::size_t number) {
  const Axis& x = chart.scales.x;
  const Axis& y = chart.scales.y;
  const std::size_t count = chart.figure.series.size();
  if (chart.figure.kind != FigureKind::bars && chart.figure.kind != FigureKind::dots)
    return {at_edge(x, point.x), at_edge(y, point.y)};
  if (lies(chart.figure)) {
    const Slot slot = slot_of(point.y, number, count, y);
    return {at_edge(x, point.x), slot.left + slot.width / 2, slot.width * 0.92};
  }
  const Slot slot = slot_of(point.x, number, count, x);
  return {slot.left + slot.width / 2, at_edge(y, point.y), slot.width * 0.92};
}

/// A line with ends, or an area as wide as a row.
void draw_interval(const Chart& chart, const Figure::Point& point, const Spot& spot, Figure::Mark mark) {
  if (!point.low || !point.high || !std::isfinite(*point.low) || !std::isfinite(*point.high)) return;
  const bool lying = lies(chart.figure);
  const Axis& axis = lying ? chart.scales.x : chart.scales.y;
  const double from = std::min(at_edge(axis, *point.low), at_edge(axis, *point.high));
  const double size = std::max(at_edge(axis, *point.low), at_edge(axis, *point.high)) - from;
  if (mark == Figure::Mark::band && lying)
    return chart.drawing.rectangle(from, spot.y - band_height / 2, std::max(size, 1.0), band_height, "band");
  if (mark == Figure::Mark::band)
    return chart.drawing.rectangle(spot.x - band_height / 2, from, band_height, std::max(size, 1.0), "band");
  chart.drawing.path(lying ? fmt::format("M{0:.1f} {1:.1f}v6m0 -3h{2:.1f}m0 -3v6", from, spot.y - 3, size)
                           : fmt::format("M{0:.1f} {1:.1f}h6m-3 0v{2:.1f}m-3 0h6", spot.x - 3, from, size),
                     "whisker");
}

void draw_bar(const Chart& chart, const Figure::Point& point, const Spot& spot, const std::string& style,
              const std::string& words) {
  const bool lying = lies(chart.figure);
  const Axis& axis = lying ? chart.scales.x : chart.scales.y;
  const double zero = at_edge(axis, 0);
  const double end = at_edge(axis, measured(chart.figure, point));
  const double from = std::min(zero, end);
  const double size = std::max(std::abs(zero - end), 0.5);
  if (lying) return chart.drawing.rectangle(from, spot.y - spot.width / 2, size, spot.width, style, words);
  chart.drawing.rectangle(spot.x - spot.width / 2, from, spot.width, size, style, words);
}

/// Behind the end of what was measured; at the axis where that is no number.
void draw_label(const Chart& chart, const Figure::Point& point, const Spot& spot) {
  if (point.label.empty()) return;
  const double high = point.high.value_or(measured(chart.figure, point));
  const ChartFrame& frame = chart.scales.frame;
  if (lies(chart.figure)) {
    const bool stands_alone = !is_number(chart.figure, point);
    const double end = stands_alone ? frame.left() : std::max(spot.x, at_edge(chart.scales.x, high));
    const double x = end + (stands_alone || chart.figure.kind == FigureKind::bars ? 5 : 8);
    return chart.drawing.text(x, spot.y + 4, Anchor::start, fitted(point.label, frame.width - x),
                              stands_alone ? "mute" : "val");
  }
  const double end = is_number(chart.figure, point) ? std::min(spot.y, at_edge(chart.scales.y, high)) : frame.bottom();
  chart.drawing.text(spot.x, end - 6, Anchor::middle, point.label, "val");
}

/// All of them in one path: short strokes with round ends.
void draw_dots(const Chart& chart, const Points& points, std::size_t number) {
  std::string path;
  for (const Figure::Point& point : points) {
    if (!is_number(chart.figure, point)) continue;
    const Spot spot = spot_of(chart, point, number);
    path += fmt::format("M{:.1f} {:.1f}h0", spot.x, spot.y);
  }
  if (!path.empty()) chart.drawing.path(path, style_of("l", number) + " small");
}

void draw_points(const Chart& chart, const Figure::Series& series, std::size_t number) {
  if (series.mark == Figure::Mark::dot) return draw_dots(chart, series.points, number);
  const bool is_bar = chart.figure.kind == FigureKind::bars;
  const bool has_labels = is_bar || chart.figure.kind == FigureKind::dots || lies(chart.figure);
  for (const Figure::Point& point : series.points) {
    const Spot spot = spot_of(chart, point, number);
    if (is_number(chart.figure, point)) {
      const std::string style =
          style_of("s", number) + (point.is_hollow ? " hollow" : "") + (point.is_faint ? " faint" : "");
      const bool is_filled = series.mark == Figure::Mark::filled;
      const std::string words = words_of(chart.figure, series, point);
      if (is_filled && is_bar) draw_bar(chart, point, spot, style, words);
      draw_interval(chart, point, spot, series.mark);
      if (is_filled && !is_bar) chart.drawing.mark(spot.x, spot.y, number, style, words);
    }
    if (has_labels) draw_label(chart, point, spot);
  }
}

std::string path_of(const Chart& chart, const Points& points) {
  const bool steps = chart.figure.kind == FigureKind::steps;
  std::string path;
  for (const Figure::Point& point : points) {
    const double x = at_edge(chart.scales.x, point.x);
    const double y = at_edge(chart.scales.y, point.y);
    path += path.empty() ? fmt::format("M{:.1f} {:.1f}", x, y)
            : steps      ? fmt::format("H{:.1f}V{:.1f}", x, y)
                         : fmt::format("L{:.1f} {:.1f}", x, y);
  }
  return path;
}

void draw_line(const Chart& chart, const Figure::Series& series, std::size_t number) {
  const std::string path = path_of(chart, series.points);
  if (!path.empty()) chart.drawing.path(path, "line " + style_of("l", number));
  constexpr std::size_t most_marks = 60;  ///< More of them hide the line.
  if (chart.figure.kind == FigureKind::lines && series.points.size() <= most_marks) draw_points(chart, series, number);
}

void draw_references(const Chart& chart) {
  for (const Figure::Series& reference : chart.figure.references) {
    std::string path;
    for (const Figure::Point& point : reference.points) {
      if (!std::isfinite(point.x) || !std::isfinite(point.y)) continue;
      path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", at_edge(chart.scales.x, point.x),
                          at_edge(chart.scales.y, point.y));
    }
    if (!path.empty()) chart.drawing.path(path, "ref");
  }
}

/// Names beside points, those of the first series first where room is short.
void place_labels(const Chart& chart, std::span<const Figure::Series> all) {
  Labels labels(chart.scales.frame);
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (const Figure::Point& point : all[i].points) {
      const Spot spot = spot_of(chart, point, i);
      labels.add_point(spot.x, spot.y);
    }
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (const Figure::Point& point : all[i].points) {
      const Spot spot = spot_of(chart, point, i);
      if (!point.label.empty()) labels.place(chart.drawing, spot.x, spot.y, point.label);
    }
  }
}

void draw_box(Drawing& drawing, const std::vector<double>& samples, const Slot& slot, std::size_t number,
              const Axis& y) {
  const double middle = slot.left + slot.width / 2;
  const double width = slot.width * 0.8;
  const double upper = y.at(quantile(samples, 0.75));
  drawing.line(middle, y.at(samples.front()), middle, y.at(samples.back()), "whisker");
  drawing.rectangle(middle - width / 2, upper, width, std::max(1.0, y.at(quantile(samples, 0.25)) - upper),
                    style_of("s", number));
  const double median = y.at(quantile(samples, 0.5));
  drawing.line(middle - width / 2, median, middle + width / 2, median, "whisker");
}

void draw_boxes(Drawing& drawing, const Figure::Series& series, std::size_t number, std::size_t count,
                const Scales& scales) {
  std::vector<double> categories;
  for (const Figure::Point& point : series.points) categories.push_back(point.x);
  std::sort(categories.begin(), categories.end());
  categories.erase(std::unique(categories.begin(), categories.end()), categories.end());
  for (const double category : categories) {
    std::vector<double> samples;
    for (const Figure::Point& point : series.points) {
      if (point.x == category) samples.push_back(point.y);
    }
    std::sort(samples.begin(), samples.end());
    draw_box(drawing, samples, slot_of(category, number, count, scales.x), number, scales.y);
  }
}

/// The more, the less it lets through: five steps of one colour.
void draw_heat(Drawing& drawing, std::span<const Figure::Series> all, const Scales& scales) {
  double low = INFINITY;
  double high = -INFINITY;
  for (const Figure::Series& series : all) {
    for (const Figure::Point& point : series.points) {
      if (!point.value || !std::isfinite(*point.value)) continue;
      low = std::min(low, *point.value);
      high = std::max(high, *point.value);
    }
  }
  const double width = std::abs(scales.x.at(1) - scales.x.at(0));
  const double height = std::abs(scales.y.at(1) - scales.y.at(0));
  for (const Figure::Series& series : all) {
    for (const Figure::Point& point : series.points) {
      if (!point.value || !std::isfinite(*point.value)) continue;
      const double share = high > low ? (*point.value - low) / (high - low) : 1;
      const double x = scales.x.at(point.x) - width / 2;
      const double y = scales.y.at(point.y) - height / 2;
      drawing.rectangle(x, y, width, height, fmt::format("s0 heat{:.0f}", std::floor(std::min(share * 5, 4.0))));
      drawing.text(x + width / 2, y + height / 2 + 4, Anchor::middle, plain_number(*point.value), "val");
    }
  }
}

/// The area between a stack and the one below it, `below` empty for the lowest.
void draw_stair(Drawing& drawing, const Points& points, const Points& below, std::size_t number, const Scales& scales) {
  if (points.empty()) return;
  std::string there;
  std::string back;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double begin = scales.x.at(points[i].x);
    const double end = i + 1 < points.size() ? scales.x.at(points[i + 1].x) : scales.frame.right();
    const double base = scales.y.at(i < below.size() ? below[i].y : 0);
    there += fmt::format("{}{:.1f} {:.1f}H{:.1f}", there.empty() ? "M" : "L", begin, scales.y.at(points[i].y), end);
    back = fmt::format("L{:.1f} {:.1f}H{:.1f}{}", end, base, begin, back);
  }
  drawing.path(there + back + "Z", style_of("s", number));
}

/// What begins at a point of a timeline, above it, as far as there is room to the next.
void draw_begins(Drawing& drawing, const Points& points, const Scales& scales) {
  const ChartFrame& frame = scales.frame;
  double room_end = frame.right();
  for (auto point = points.rbegin(); point != points.rend(); ++point) {
    if (point->label.empty()) continue;
    const double x = scales.x.at(point->x);
    drawing.line(x, frame.top(), x, frame.bottom(), "ref");
    if (room_end - x > text_width("mm"))
      drawing.text(x + 3, frame.top() - 4, Anchor::start, fitted(point->label, room_end - x - 6));
    room_end = x;
  }
}

/// The same for the same name, so that it is found again in other rows.
std::string flame_style(const std::string& label) {
  unsigned hash = 2166136261U;  // FNV-1a
  for (const char c : label) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return style_of("s", hash % colours) + " heat1";
}

void draw_flames(Drawing& drawing, const Figure::Series& series, const Scales& scales) {
  constexpr double least_visible = 0.3;
  for (const Figure::Point& point : series.points) {
    const double value = point.value.value_or(0);
    const double left = scales.x.at(point.x);
    const double width = scales.x.at(point.x + value) - left;
    if (width < least_visible) continue;
    const double bottom = scales.y.at(point.y);
    drawing.rectangle(left, bottom - flame_height + 1, std::max(width - 1, least_visible), flame_height - 1,
                      flame_style(point.label), fmt::format("{}: {}", point.label, plain_number(value)));
    if (width > 24) drawing.text(left + 3, bottom - 5, Anchor::start, fitted(point.label, width - 6));
  }
}

void draw_one(const Chart& chart, std::span<const Figure::Series> all, std::size_t number) {
  const Figure::Series& series = all[number];
  switch (chart.figure.kind) {
    case FigureKind::lines:
    case FigureKind::steps:
      return draw_line(chart, series, number);
    case FigureKind::scatter:
    case FigureKind::bars:
    case FigureKind::dots:
      return draw_points(chart, series, number);
    case FigureKind::boxes:
      return draw_boxes(chart.drawing, series, number, all.size(), chart.scales);
    case FigureKind::timeline:
      return draw_stair(chart.drawing, series.points, number == 0 ? Points{} : all[number - 1].points, number,
                        chart.scales);
    case FigureKind::flame:
      return draw_flames(chart.drawing, series, chart.scales);
    case FigureKind::heat_map:
      return;  // Its colours are of all series together.
  }
}

/// The name of a category, else the number.
std::string coordinate_text(const Figure::Axis& axis, double value) {
  const double category = std::round(value);
  const bool is_category = category >= 0 && category < static_cast<double>(axis.categories.size());
  return is_category ? axis.categories[static_cast<std::size_t>(category)] : plain_number(value);
}

}  // namespace

std::string words_of(const Figure& figure, const Figure::Series& series, const Figure::Point& point) {
  if (!point.words.empty()) return point.words;
  const std::string parts = series.name.empty() || point.label.empty() ? "" : ", ";
  const std::string category = coordinate_text(lies(figure) ? figure.y : figure.x, lies(figure) ? point.y : point.x);
  const std::string value = is_number(figure, point) ? plain_number(measured(figure, point)) : "no figure";
  return fmt::format("{}{}{}: {}, {}", series.name, parts, point.label, category, value);
}

void draw_series(Drawing& drawing, const Figure& figure, std::span<const Figure::Series> all, const Scales& scales) {
  const Chart chart = {drawing, figure, scales};
  draw_references(chart);
  if (figure.kind == FigureKind::heat_map) return draw_heat(drawing, all, scales);
  for (std::size_t i = 0; i < all.size(); ++i) draw_one(chart, all, i);
  if (figure.kind == FigureKind::timeline && !all.empty()) draw_begins(drawing, all.front().points, scales);
  const bool has_names = figure.kind == FigureKind::lines || figure.kind == FigureKind::scatter;
  if (has_names && !lies(figure)) place_labels(chart, all);
}

void draw_swatch(Drawing& drawing, const Figure& figure, std::size_t number, double x) {
  constexpr double middle = 7;
  const bool has_line = figure.kind == FigureKind::lines || figure.kind == FigureKind::steps;
  if (has_line) drawing.line(x + 1, middle, x + 25, middle, "line " + style_of("l", number));
  if (figure.kind == FigureKind::steps) return;
  const Figure::Mark mark = figure.series[number].mark;
  if (mark == Figure::Mark::band) return drawing.rectangle(x + 3, 1, 20, 12, "band");
  if (mark == Figure::Mark::whisker) return drawing.line(x + 3, middle, x + 23, middle, "whisker");
  if (mark == Figure::Mark::dot)
    return drawing.path(fmt::format("M{:.1f} {:.1f}h0", x + 13, middle), style_of("l", number) + " small");
  const bool has_shape = has_line || figure.kind == FigureKind::scatter || figure.kind == FigureKind::dots;
  drawing.mark(x + 13, middle, has_shape ? number : 1, style_of("s", number));
}

}  // namespace assay
