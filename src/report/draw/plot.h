#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

enum class ScaleKind : std::uint8_t { linear, logarithmic };

/// One axis of a chart: values from low to high lie from begin to end, in units of the drawing.
struct Axis {
  ScaleKind kind = ScaleKind::linear;
  double low = 0;
  double high = 1;
  double begin = 0;
  double end = 1;
  std::vector<double> ticks;  ///< Round values within [low, high].

  double at(double value) const;
};

/// A drawing, and the part of it that the axes enclose.
struct ChartFrame {
  double width = 0;
  double height = 0;
  double left_margin = 0;
  double right_margin = 0;
  double top_margin = 0;
  double bottom_margin = 0;

  constexpr double left() const { return left_margin; }
  constexpr double right() const { return width - right_margin; }
  constexpr double top() const { return top_margin; }
  constexpr double bottom() const { return height - bottom_margin; }
  constexpr double middle_x() const { return (left() + right()) / 2; }
  constexpr double middle_y() const { return (top() + bottom()) / 2; }
};

/// What an axis has to show, and where it lies.
struct AxisSpan {
  double low = 0;
  double high = 1;
  double begin = 0;
  double end = 1;
  int most_ticks = 5;
};
/// Linear: from low to high as they are. Logarithmic: low must be above 0; ticks 1, 2, 5 of each decade as far as there
/// is room, else whole decades; within less than a decade as on a linear one. An empty span is widened.
Axis make_axis(ScaleKind kind, const AxisSpan& span);

/// A number for a tick or a label: "0", "0.05", "43.1", "1,500", "2.5M".
std::string plain_number(double value);

/// Where a text stands to its point.
enum class Anchor : std::uint8_t { start, middle, end };

/// A chart in the making: SVG of our own, whose colours are classes of the page's style.
class Drawing {
 public:
  Drawing(double width, double height) : width_(width), height_(height) {}

  /// `style`: class names of the page's style.
  void line(double x1, double y1, double x2, double y2, std::string_view style);
  /// `title` shows where a pointer rests.
  void rectangle(double x, double y, double width, double height, std::string_view style, std::string_view title = "");
  void path(const std::string& data, std::string_view style);
  void text(double x, double y, Anchor anchor, std::string_view text, std::string_view style = "");
  /// Rotated by a quarter turn, for the title of a vertical axis.
  void vertical_text(double x, double y, std::string_view text);
  /// A mark whose shape tells series apart where colours do not: 0 circle, 1 square, 2 triangle, 3 diamond, 4 cross,
  /// then again from 0. `title` shows where a pointer rests.
  void mark(double x, double y, std::size_t shape, std::string_view style, std::string_view title = "");
  /// Inserts drawn markup as it is.
  void raw(std::string_view markup) { body_ += markup; }

  /// The `svg` element. `title` names it, `description` says in words what it shows.
  std::string markup(std::string_view title, std::string_view description) const;
  /// The same for a chart whose words stand beside it: hidden from screen readers.
  std::string decoration() const;
  /// The same as `markup`, as a file of its own.
  std::string file(std::string_view title, std::string_view description) const;
  const std::string& body() const { return body_; }
  double width() const { return width_; }
  double height() const { return height_; }

 private:
  double width_;
  double height_;
  std::string body_;
};

/// Width of a text at a chart's size of letters, roughly: for leaving room.
double text_width(std::string_view text);
/// At most so wide, an ellipsis at its end where it was cut.
std::string fitted(std::string_view text, double width);

}  // namespace assay
