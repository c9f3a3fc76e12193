#include "report/draw/figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <span>

#include "base/markup.h"
#include "report/draw/plot.h"
#include "report/html/resources.h"

namespace assay {
namespace {

constexpr ChartFrame common_frame = {
    .width = 720, .height = 300, .left_margin = 76, .right_margin = 16, .top_margin = 16, .bottom_margin = 52};
constexpr double flame_height = 18;  ///< Of a row: a line of text, and what parts it from the next.
constexpr std::size_t colours = 8;   ///< As many as the style has.

using Points = std::vector<Figure::Point>;

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

bool is_drawn(const Figure& figure, const Figure::Point& point) {
  const auto fits = [](const Figure::Axis& axis, double value) {
    return std::isfinite(value) && (axis.scale == Figure::Scale::linear || value > 0);
  };
  return fits(figure.x, point.x) && fits(figure.y, point.y);
}

/// The points that can be drawn: finite, above zero where the scale is logarithmic.
std::vector<Figure::Series> drawn_series(const Figure& figure) {
  std::vector<Figure::Series> all = figure.series;
  for (Figure::Series& series : all)
    std::erase_if(series.points, [&](const Figure::Point& point) { return !is_drawn(figure, point); });
  return all;
}

/// y of every series on top of those before it, point by point.
void stack(std::vector<Figure::Series>& all) {
  for (std::size_t i = 1; i < all.size(); ++i) {
    const Points& below = all[i - 1].points;
    for (std::size_t k = 0; k < std::min(all[i].points.size(), below.size()); ++k) all[i].points[k].y += below[k].y;
  }
}

struct Scales {
  ChartFrame frame;
  Axis x;
  Axis y;
};

/// A flame graph is as high as its rows, and has nothing to say beside them.
ChartFrame frame_of(const Figure& figure) {
  if (figure.kind != FigureKind::flame) return common_frame;
  double rows = 1;
  for (const Figure::Series& series : figure.series) {
    for (const Figure::Point& point : series.points) rows = std::max(rows, point.y + 1);
  }
  ChartFrame frame = common_frame;
  frame.width = 1080;
  frame.left_margin = 36;
  frame.height = frame.top_margin + rows * flame_height + frame.bottom_margin;
  return frame;
}

bool starts_at_zero(const Figure& figure) {
  return figure.kind == FigureKind::bars || figure.kind == FigureKind::timeline || figure.kind == FigureKind::flame;
}

/// Categories, and rows of a flame graph, are as wide as one.
Extent extent_of_categories(std::size_t count) {
  return {-0.5, static_cast<double>(std::max<std::size_t>(count, 1)) - 0.5};
}

Extent extent_of_x(const Figure& figure, const std::vector<Figure::Series>& all) {
  if (!figure.x.categories.empty()) return extent_of_categories(figure.x.categories.size());
  Extent extent;
  for (const Figure::Series& series : all) {
    for (const Figure::Point& point : series.points) {
      extent.take(point.x);
      if (figure.kind == FigureKind::flame) extent.take(point.x + point.value.value_or(0));
    }
  }
  return extent;
}

Extent extent_of_y(const Figure& figure, const std::vector<Figure::Series>& all) {
  if (!figure.y.categories.empty()) return extent_of_categories(figure.y.categories.size());
  Extent extent;
  const bool is_logarithmic = figure.y.scale == Figure::Scale::logarithmic;
  for (const Figure::Series& series : all) {
    for (const Figure::Point& point : series.points) {
      extent.take(point.y);
      if (point.low && (!is_logarithmic || *point.low > 0)) extent.take(*point.low);
      if (point.high) extent.take(*point.high);
    }
  }
  if (figure.kind == FigureKind::flame) extent.take(extent.high + 1);
  if (starts_at_zero(figure) && !is_logarithmic) extent.take(0);
  return extent;
}

Axis scale_of(const Figure::Axis& axis, const Extent& extent, double begin, double end) {
  const bool is_logarithmic = axis.scale == Figure::Scale::logarithmic && extent.low > 0;
  AxisSpan span{extent.low, extent.high, begin, end, 6};
  if (is_logarithmic && extent.low == extent.high) span.low /= 2, span.high *= 2;
  return make_axis(is_logarithmic ? ScaleKind::logarithmic : ScaleKind::linear, span);
}

std::string title_of(const Figure::Axis& axis) {
  return axis.unit.empty() ? axis.title : axis.title + ", " + axis.unit;
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
  for (std::size_t i = 0; i < names.size(); ++i)
    drawing.text(frame.left() - 6, y.at(static_cast<double>(i)) + 4, Anchor::end, fitted(names[i], frame.left() - 24),
                 "tick");
  const bool has_numbers = names.empty() && figure.kind != FigureKind::flame;
  for (const double tick : has_numbers ? y.ticks : std::vector<double>{}) {
    drawing.line(frame.left(), y.at(tick), frame.right(), y.at(tick), "grid");
    drawing.text(frame.left() - 6, y.at(tick) + 4, Anchor::end, plain_number(tick), "tick");
  }
  drawing.vertical_text(14, frame.middle_y(), title_of(figure.y));
}

std::string style_of(const char* letter, std::size_t series) {
  return fmt::format("{}{}", letter, series % colours);
}

std::string words_of(const Figure::Series& series, const Figure::Point& point) {
  return fmt::format("{}{}{}", series.name, series.name.empty() || point.label.empty() ? "" : ", ", point.label);
}

void draw_interval(Drawing& drawing, const Figure::Point& point, double x, const Axis& y) {
  if (!point.low || !point.high || *point.low < y.low || *point.high > y.high) return;
  drawing.line(x, y.at(*point.low), x, y.at(*point.high), "whisker");
}

void draw_points(Drawing& drawing, const Figure::Series& series, std::size_t number, const Scales& scales) {
  for (const Figure::Point& point : series.points) {
    const double x = scales.x.at(point.x);
    draw_interval(drawing, point, x, scales.y);
    drawing.mark(x, scales.y.at(point.y), number, style_of("s", number),
                 fmt::format("{}: {}, {}", words_of(series, point), plain_number(point.x), plain_number(point.y)));
  }
}

void draw_line(Drawing& drawing, const Figure::Series& series, std::size_t number, const Scales& scales) {
  std::string path;
  for (const Figure::Point& point : series.points)
    path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", scales.x.at(point.x), scales.y.at(point.y));
  if (!path.empty()) drawing.path(path, "line " + style_of("l", number));
  constexpr std::size_t most_marks = 60;  ///< More of them hide the line.
  if (series.points.size() <= most_marks) draw_points(drawing, series, number, scales);
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

void draw_bars(Drawing& drawing, const Figure::Series& series, std::size_t number, std::size_t count,
               const Scales& scales) {
  for (const Figure::Point& point : series.points) {
    const Slot slot = slot_of(point.x, number, count, scales.x);
    const double zero = scales.y.at(std::max(scales.y.low, 0.0));
    const double end = scales.y.at(point.y);
    drawing.rectangle(slot.left, std::min(zero, end), slot.width * 0.92, std::abs(zero - end), style_of("s", number));
    draw_interval(drawing, point, slot.left + slot.width * 0.46, scales.y);
  }
}

double quantile_of(const std::vector<double>& ascending, double share) {
  const double at = share * static_cast<double>(ascending.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, ascending.size() - 1);
  return ascending[below] + (at - static_cast<double>(below)) * (ascending[above] - ascending[below]);
}

void draw_box(Drawing& drawing, const std::vector<double>& samples, const Slot& slot, std::size_t number,
              const Axis& y) {
  const double middle = slot.left + slot.width / 2;
  const double width = slot.width * 0.8;
  const double upper = y.at(quantile_of(samples, 0.75));
  drawing.line(middle, y.at(samples.front()), middle, y.at(samples.back()), "whisker");
  drawing.rectangle(middle - width / 2, upper, width, std::max(1.0, y.at(quantile_of(samples, 0.25)) - upper),
                    style_of("s", number));
  const double median = y.at(quantile_of(samples, 0.5));
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
void draw_heat(Drawing& drawing, const std::vector<Figure::Series>& all, const Scales& scales) {
  Extent values;
  for (const Figure::Series& series : all) {
    for (const Figure::Point& point : series.points) values.take(point.value.value_or(NAN));
  }
  const double width = std::abs(scales.x.at(1) - scales.x.at(0));
  const double height = std::abs(scales.y.at(1) - scales.y.at(0));
  for (const Figure::Series& series : all) {
    for (const Figure::Point& point : series.points) {
      if (!point.value || !std::isfinite(*point.value)) continue;
      const double share = values.high > values.low ? (*point.value - values.low) / (values.high - values.low) : 1;
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

void draw_series(Drawing& drawing, const Figure& figure, const std::vector<Figure::Series>& all, const Scales& scales) {
  if (figure.kind == FigureKind::heat_map) return draw_heat(drawing, all, scales);
  for (std::size_t i = 0; i < all.size(); ++i) {
    switch (figure.kind) {
      case FigureKind::lines:
        draw_line(drawing, all[i], i, scales);
        break;
      case FigureKind::scatter:
        draw_points(drawing, all[i], i, scales);
        break;
      case FigureKind::bars:
        draw_bars(drawing, all[i], i, all.size(), scales);
        break;
      case FigureKind::boxes:
        draw_boxes(drawing, all[i], i, all.size(), scales);
        break;
      case FigureKind::timeline:
        draw_stair(drawing, all[i].points, i == 0 ? Points{} : all[i - 1].points, i, scales);
        break;
      case FigureKind::flame:
        draw_flames(drawing, all[i], scales);
        break;
      case FigureKind::heat_map:
        break;
    }
  }
}

/// Empty where there is no point to draw.
std::optional<Drawing> drawn(const Figure& figure) {
  std::vector<Figure::Series> all = drawn_series(figure);
  if (figure.kind == FigureKind::timeline) stack(all);
  const Extent of_x = extent_of_x(figure, all);
  const Extent of_y = extent_of_y(figure, all);
  const bool has_points =
      std::any_of(all.begin(), all.end(), [](const Figure::Series& series) { return !series.points.empty(); });
  if (!has_points || of_x.is_empty() || of_y.is_empty()) return std::nullopt;
  const ChartFrame frame = frame_of(figure);
  const Scales scales = {frame, scale_of(figure.x, of_x, frame.left(), frame.right()),
                         scale_of(figure.y, of_y, frame.bottom(), frame.top())};
  Drawing drawing(frame.width, frame.height);
  draw_x_axis(drawing, figure, scales);
  draw_y_axis(drawing, figure, scales);
  draw_series(drawing, figure, all, scales);
  if (figure.kind == FigureKind::timeline && !all.empty()) draw_begins(drawing, all.front().points, scales);
  drawing.path(fmt::format("M{0} {1}V{2}H{3}", frame.left(), frame.top(), frame.bottom(), frame.right()), "axis");
  return drawing;
}

/// Of the mark beside a name: that of the points, else a square as areas have.
std::size_t shape_of(const Figure& figure, std::size_t series) {
  return figure.kind == FigureKind::lines || figure.kind == FigureKind::scatter ? series : 1;
}

std::string legend_of(const Figure& figure) {
  if (figure.series.size() < 2) return "";
  std::string items;
  for (std::size_t i = 0; i < figure.series.size(); ++i) {
    Drawing swatch(26, 14);
    if (figure.kind == FigureKind::lines) swatch.line(1, 7, 25, 7, "line " + style_of("l", i));
    swatch.mark(13, 7, shape_of(figure, i), style_of("s", i));
    items += fmt::format("<li>{}{}</li>", swatch.decoration(), markup_text(figure.series[i].name));
  }
  return "<ul class=\"legend\">" + items + "</ul>";
}

std::string description_of(const Figure& figure) {
  std::size_t points = 0;
  for (const Figure::Series& series : figure.series) points += series.points.size();
  return fmt::format("{} points of {} series; {} over {}", points, figure.series.size(), title_of(figure.y),
                     title_of(figure.x));
}

/// The page's rules for drawings, with the colours of a light page put in: few viewers of files know CSS variables.
std::string drawing_style() {
  const std::string_view page = report_style();
  const std::size_t begin = page.find("svg text {");
  std::string style(page.substr(begin, page.find("@media", begin) - begin));
  for (std::size_t at = style.find("var("); at != std::string::npos; at = style.find("var(", at)) {
    const std::size_t end = style.find(')', at);
    const std::string variable = style.substr(at + 4, end - at - 4) + ": ";
    const std::size_t value = page.find(variable) + variable.size();
    style.replace(at, end + 1 - at, page.substr(value, page.find(';', value) - value));
  }
  return style;
}

/// One below the other in a file that has no page around it.
class Sheet {
 public:
  void add(const Figure& figure) {
    add_text(figure.caption, "strong");
    if (const std::optional<Drawing> drawing = drawn(figure)) {
      body_ += fmt::format("<g transform=\"translate(0 {:.0f})\">{}</g>", height_, drawing->body());
      height_ += drawing->height();
      width_ = std::max(width_, drawing->width());
    } else {
      add_text("there is nothing to draw", "mute");
    }
    if (figure.series.size() > 1) add_names(figure);
    height_ += 16;
  }

  std::string file(std::string_view title, std::string_view description) const {
    Drawing whole(width_, height_);
    whole.raw(fmt::format("<style>{}</style><rect width=\"100%\" height=\"100%\" fill=\"white\"/>{}", drawing_style(),
                          body_));
    return whole.file(title, description);
  }

 private:
  void add_text(const std::string& text, std::string_view style) {
    Drawing line(width_, line_height);
    line.text(common_frame.left(), height_ + 16, Anchor::start, text, style);
    body_ += line.body();
    height_ += line_height;
  }

  /// As many in a line as there is room for.
  void add_names(const Figure& figure) {
    Drawing names(width_, line_height);
    double x = common_frame.left();
    for (std::size_t i = 0; i < figure.series.size(); ++i) {
      const double width = 30 + text_width(figure.series[i].name);
      if (x + width > width_ && x > common_frame.left()) x = common_frame.left(), height_ += line_height;
      names.mark(x + 5, height_ + 10, shape_of(figure, i), style_of("s", i));
      names.text(x + 16, height_ + 14, Anchor::start, figure.series[i].name);
      x += width;
    }
    body_ += names.body();
    height_ += line_height;
  }

  static constexpr double line_height = 22;
  double width_ = common_frame.width;
  double height_ = 8;
  std::string body_;
};

}  // namespace

std::string figure_html(const Figure& figure) {
  const std::optional<Drawing> drawing = drawn(figure);
  const std::string body = drawing ? legend_of(figure) + drawing->markup(figure.caption, description_of(figure))
                                   : "<p class=\"none\">there is nothing to draw</p>";
  return fmt::format("<figure class=\"card full\">{}<figcaption>{}</figcaption></figure>\n", body,
                     markup_text(figure.caption));
}

std::string figures_svg(std::span<const Figure> figures) {
  Sheet sheet;
  for (const Figure& figure : figures) sheet.add(figure);
  if (figures.size() == 1) return sheet.file(figures[0].caption, description_of(figures[0]));
  return sheet.file(fmt::format("{} charts", figures.size()), "each under its caption");
}

}  // namespace assay
