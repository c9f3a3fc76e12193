#include "report/draw/figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "base/markup.h"
#include "report/draw/marks.h"
#include "report/html/resources.h"
#include "report/text.h"

namespace assay {
namespace {

/// Of a figure that is lying, what is no number may have a label.
bool is_drawn(const Figure& figure, const Figure::Point& point) {
  const auto fits = [](const Figure::Axis& axis, double value) {
    return std::isfinite(value) && (axis.scale == Figure::Scale::linear || value > 0);
  };
  if (lies(figure) && !point.label.empty()) return fits(figure.y, point.y);
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
    const std::vector<Figure::Point>& below = all[i - 1].points;
    for (std::size_t k = 0; k < std::min(all[i].points.size(), below.size()); ++k) all[i].points[k].y += below[k].y;
  }
}

/// Empty where there is no point to draw.
std::optional<Drawing> drawn(const Figure& figure, Breadth breadth) {
  std::vector<Figure::Series> all = drawn_series(figure);
  if (figure.kind == FigureKind::timeline) stack(all);
  const std::optional<Scales> scales = scales_of(figure, all, breadth);
  if (!scales) return std::nullopt;
  const ChartFrame& frame = scales->frame;
  Drawing drawing(frame.width, frame.height);
  draw_axes(drawing, figure, *scales);
  draw_series(drawing, figure, all, *scales);
  drawing.path(fmt::format("M{0} {1}V{2}H{3}", frame.left(), frame.top(), frame.bottom(), frame.right()), "axis");
  return drawing;
}

/// A name, and what stands beside it.
struct LegendItem {
  std::string name;
  Drawing swatch = Drawing(26, 14);
};

std::vector<LegendItem> legend_items(const Figure& figure) {
  std::vector<LegendItem> items;
  items.reserve(figure.series.size() + figure.references.size());
  for (std::size_t i = 0; i < figure.series.size(); ++i) {
    if (figure.series.size() > 1 || figure.kind == FigureKind::steps) {
      items.push_back({.name = figure.series[i].name});
      draw_swatch(items.back().swatch, figure, i, 0);
    }
  }
  for (const Figure::Series& reference : figure.references) {
    if (reference.name.empty()) continue;
    items.push_back({.name = reference.name});
    items.back().swatch.line(1, 7, 25, 7, "ref");
  }
  return items;
}

std::string legend_html(const Figure& figure) {
  std::string text;
  for (const LegendItem& item : legend_items(figure))
    text += fmt::format("<li>{}{}</li>", item.swatch.decoration(), markup_text(item.name));
  return text.empty() ? "" : "<ul class=\"legend\">" + text + "</ul>";
}

/// What stands at each point where they are few, else how many there are.
std::string description_of(const Figure& figure) {
  constexpr std::size_t most_told = 80;
  std::size_t points = 0;
  std::string words;
  for (const Figure::Series& series : figure.series) {
    points += series.points.size();
    if (series.mark == Figure::Mark::dot || points > most_told) continue;
    for (const Figure::Point& point : series.points) {
      if (!point.words.empty() || is_drawn(figure, point))
        words += (words.empty() ? "" : "; ") + words_of(figure, series, point);
    }
  }
  if (points <= most_told && !words.empty()) return words;
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

std::string empty_reason(const Figure& figure) {
  return figure.reason.empty() ? "there is nothing to draw" : figure.reason;
}

const char* class_of(Breadth breadth) {
  return breadth == Breadth::full ? "card full" : breadth == Breadth::half ? "card wide" : "card";
}

/// One below the other in a file that has no page around it.
class Sheet {
 public:
  void add(const Figure& figure) {
    add_text(figure.caption, "strong");
    if (const std::optional<Drawing> drawing = drawn(figure, Breadth::full)) {
      body_ += fmt::format("<g transform=\"translate(0 {:.0f})\">{}</g>", height_, drawing->body());
      height_ += drawing->height();
      width_ = std::max(width_, drawing->width());
    } else {
      add_text(empty_reason(figure), "mute");
    }
    add_names(figure);
    std::istringstream lines(wrap(figure.legend, most_columns, 0));
    for (std::string line; std::getline(lines, line);) add_text(line, "mute");
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
    line.text(left, height_ + 16, Anchor::start, text, style);
    body_ += line.body();
    height_ += line_height;
  }

  /// As many in a line as there is room for.
  void add_names(const Figure& figure) {
    double x = left;
    const std::vector<LegendItem> items = legend_items(figure);
    for (const LegendItem& item : items) {
      const double width = 44 + text_width(item.name);
      if (x + width > width_ && x > left) x = left, height_ += line_height;
      Drawing name(width, line_height);
      name.text(30, 11, Anchor::start, item.name);
      body_ += fmt::format("<g transform=\"translate({:.0f} {:.0f})\">{}{}</g>", x, height_ + 3, item.swatch.body(),
                           name.body());
      x += width;
    }
    if (!items.empty()) height_ += line_height;
  }

  static constexpr double left = 76;
  static constexpr std::size_t most_columns = 100;
  static constexpr double line_height = 22;
  double width_ = 720;
  double height_ = 8;
  std::string body_;
};

}  // namespace

std::string figure_html(const Figure& figure, Breadth breadth) {
  const std::optional<Drawing> drawing = drawn(figure, breadth);
  const std::string body = drawing ? legend_html(figure) + drawing->markup(figure.caption, description_of(figure))
                                   : fmt::format("<p class=\"none\">{}</p>", markup_text(empty_reason(figure)));
  const bool is_explained = drawing && !figure.legend.empty();
  return fmt::format("<figure class=\"{}\"><h3>{}</h3>{}{}</figure>\n", class_of(breadth), markup_text(figure.caption),
                     body, is_explained ? fmt::format("<figcaption>{}</figcaption>", markup_text(figure.legend)) : "");
}

std::string figures_svg(std::span<const Figure> figures) {
  Sheet sheet;
  for (const Figure& figure : figures) sheet.add(figure);
  if (figures.size() == 1) return sheet.file(figures[0].caption, description_of(figures[0]));
  return sheet.file(fmt::format("{} charts", figures.size()), "each under its caption");
}

}  // namespace assay
