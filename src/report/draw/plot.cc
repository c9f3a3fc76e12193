#include "report/draw/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/markup.h"
#include "base/units.h"
#include "report/text.h"

namespace assay {
namespace {

constexpr double letter_width = 6.4;  ///< Mean of a sans-serif of 12 units.

/// 1, 2 or 5 times a power of ten, so that at most `most` of them fit.
double round_step(double range, int most) {
  const double raw = range / most;
  const double power = std::pow(10, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (raw <= factor * power * (1 + 1e-9)) return factor * power;
  }
  return 10 * power;
}

std::vector<double> linear_ticks(double low, double high, int most) {
  const double step = round_step(high - low, most);
  std::vector<double> ticks;
  const double first = std::ceil(low / step - 1e-9);
  for (int i = 0; i <= most; ++i) {  // Counted: a step may be too small to change a large number.
    if ((first + i) * step <= high + 1e-9 * step) ticks.push_back((first + i) * step);
  }
  return ticks;
}

/// The given parts of every decade that lie in the span.
std::vector<double> decade_ticks(double low, double high, const std::vector<double>& parts) {
  std::vector<double> ticks;
  for (double exponent = std::floor(std::log10(low)); std::pow(10, exponent) <= high; ++exponent) {
    for (const double part : parts) {
      const double tick = part * std::pow(10, exponent);
      if (tick >= low * (1 - 1e-9) && tick <= high * (1 + 1e-9)) ticks.push_back(tick);
    }
  }
  return ticks;
}

std::vector<double> logarithmic_ticks(double low, double high, int most) {
  const std::vector<std::vector<double>> choices = {{1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9}, {1, 2, 5}, {1, 3}, {1}};
  for (const auto& parts : choices) {
    const std::vector<double> ticks = decade_ticks(low, high, parts);
    if (ticks.size() <= static_cast<std::size_t>(most) && ticks.size() >= 2) return ticks;
  }
  std::vector<double> decades = decade_ticks(low, high, {1});
  if (decades.size() < 2) return linear_ticks(low, high, most);
  const std::size_t every = (decades.size() + static_cast<std::size_t>(most) - 1) / static_cast<std::size_t>(most);
  std::vector<double> ticks;
  for (std::size_t i = 0; i < decades.size(); i += every) ticks.push_back(decades[i]);
  return ticks;
}

std::string polygon(double x, double y, std::size_t shape) {
  constexpr double r = 4.5;
  switch (shape % 5) {
    case 0:
      return fmt::format("M{:.1f} {:.1f}a{r} {r} 0 1 0 {d} 0a{r} {r} 0 1 0 -{d} 0Z", x - r, y, fmt::arg("r", r),
                         fmt::arg("d", 2 * r));
    case 1:
      return fmt::format("M{:.1f} {:.1f}h{d}v{d}h-{d}Z", x - r * 0.9, y - r * 0.9, fmt::arg("d", 2 * r * 0.9));
    case 2:
      return fmt::format("M{:.1f} {:.1f}L{:.1f} {:.1f}H{:.1f}Z", x, y - r * 1.2, x + r * 1.1, y + r * 0.9, x - r * 1.1);
    case 3:
      return fmt::format("M{:.1f} {:.1f}l{r} {r}l-{r} {r}l-{r} -{r}Z", x, y - r * 1.2, fmt::arg("r", r * 1.2));
    default:
      return fmt::format("M{:.1f} {:.1f}h3v3h3v3h-3v3h-3v-3h-3v-3h3Z", x - 1.5, y - 4.5);
  }
}

}  // namespace

double Axis::at(double value) const {
  const double share =
      kind == ScaleKind::linear ? (value - low) / (high - low) : std::log(value / low) / std::log(high / low);
  return begin + share * (end - begin);
}

Axis make_axis(ScaleKind kind, const AxisSpan& span) {
  Axis axis{kind, span.low, span.high, span.begin, span.end, {}};
  if (axis.high <= axis.low) {
    const double margin = axis.low == 0 ? 1 : std::abs(axis.low) * 0.1;
    axis.high = axis.low + margin;
    axis.low -= margin;
  }
  axis.ticks = kind == ScaleKind::linear ? linear_ticks(axis.low, axis.high, span.most_ticks)
                                         : logarithmic_ticks(axis.low, axis.high, span.most_ticks);
  return axis;
}

std::string plain_number(double value) {
  const double size = std::abs(value);
  if (size == 0) return "0";
  if (size >= 999.5e6) return fmt::format("{:.3g}G", value / 1e9);
  if (size >= 999.5e3) return fmt::format("{:.3g}M", value / 1e6);
  if (size >= 999.5) return format_count(std::llround(value));
  if (size < 1e-3) return fmt::format("{:.2g}", value);
  return fmt::format("{:.3g}", value);
}

void Drawing::line(double x1, double y1, double x2, double y2, std::string_view style) {
  body_ += fmt::format("<path class=\"{}\" d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\"/>", style, x1, y1, x2, y2);
}

void Drawing::rectangle(double x, double y, double width, double height, std::string_view style,
                        std::string_view title) {
  body_ += fmt::format("<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"", style, x, y,
                       width, height);
  body_ += title.empty() ? "/>" : fmt::format("><title>{}</title></rect>", markup_text(title));
}

void Drawing::path(const std::string& data, std::string_view style) {
  body_ += fmt::format("<path class=\"{}\" d=\"{}\"/>", style, data);
}

void Drawing::text(double x, double y, Anchor anchor, std::string_view text, std::string_view style) {
  const char* side = anchor == Anchor::start ? "" : anchor == Anchor::middle ? "mid" : "fin";
  const std::string classes = fmt::format("{}{}{}", side, *side && !style.empty() ? " " : "", style);
  body_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\"{}>{}</text>", x, y,
                       classes.empty() ? "" : fmt::format(" class=\"{}\"", classes), markup_text(text));
}

void Drawing::vertical_text(double x, double y, std::string_view text) {
  body_ += fmt::format("<text class=\"mid\" transform=\"translate({:.1f} {:.1f})rotate(-90)\">{}</text>", x, y,
                       markup_text(text));
}

void Drawing::mark(double x, double y, std::size_t shape, std::string_view style, std::string_view title) {
  body_ += fmt::format("<path class=\"{}\" d=\"{}\">{}</path>", style, polygon(x, y, shape),
                       title.empty() ? "" : fmt::format("<title>{}</title>", markup_text(title)));
}

std::string Drawing::file(std::string_view title, std::string_view description) const {
  std::string text = markup(title, description);
  return text.insert(std::string_view("<svg").size(), " xmlns=\"http://www.w3.org/2000/svg\"");
}

std::string Drawing::markup(std::string_view title, std::string_view description) const {
  return fmt::format(
      "<svg role=\"img\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" height=\"{1:.0f}\" aria-label=\"{2}\">"
      "<title>{2}</title><desc>{3}</desc>{4}</svg>\n",
      width_, height_, markup_text(title), markup_text(description), body_);
}

std::string Drawing::decoration() const {
  return fmt::format(
      "<svg aria-hidden=\"true\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" height=\"{1:.0f}\">{2}</svg>",
      width_, height_, body_);
}

double text_width(std::string_view text) {
  return letter_width * static_cast<double>(display_width(text));
}

std::string fitted(std::string_view text, double width) {
  const double letters = std::max(1.0, std::floor(width / letter_width));
  return cut(text, static_cast<std::size_t>(letters));
}

}  // namespace assay
