#include "report/html/distribution.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/markup.h"
#include "base/units.h"
#include "report/draw/plot.h"

namespace assay {
namespace {

constexpr double strip_width = 720;
constexpr double row_height = 30;
constexpr double strip_top = 10;
constexpr double strip_bottom = 40;

std::vector<const Record*> sampled(const ReportSubject& subject) {
  std::vector<const Record*> rows;
  for (const Record* record : subject.records) {
    if (!record->latency->raw_ms.empty() && record->latency->median_ms && *record->latency->median_ms > 0)
      rows.push_back(record);
  }
  return rows;
}

double quantile(std::vector<double> values, double p) {
  std::sort(values.begin(), values.end());
  const double place = p * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (place - static_cast<double>(below)) * (values[above] - values[below]);
}

/// Percent from the row's median.
double percent(const Record& record, double ms) {
  return 100 * (ms / *record.latency->median_ms - 1);
}

/// Draws all samples of a subject.
class DistributionChart {
 public:
  DistributionChart(const ReportSubject& subject, std::size_t most_points)
      : subject_(subject),
        rows_(sampled(subject)),
        most_points_(most_points),
        bottom_(strip_top + row_height * static_cast<double>(rows_.size())),
        drawing_(strip_width, bottom_ + strip_bottom) {
    for (const Record* row : rows_) gutter_ = std::max(gutter_, text_width(label(*row)) + 12);
    gutter_ = std::min(gutter_, 210.0);
    choose_axis();
  }

  std::string draw() {
    draw_axis();
    double y = strip_top + row_height / 2;
    for (const Record* row : rows_) {
      draw_row(*row, y);
      y += row_height;
    }
    return drawing_.markup("Samples of " + subject_.title, description_);
  }

  std::string caption() const {
    std::string text =
        "points: samples in the order in which they were taken, from the top of each row to its bottom; box: 95 % "
        "interval of the median; line: quartiles";
    if (thinned_ > 1) text += fmt::format("; of long series every {}th sample is drawn", thinned_);
    if (beyond_ > 0) text += fmt::format("; {} samples lie further out and stand at the edge", beyond_);
    return text;
  }

 private:
  static std::string label(const Record& row) {
    return fmt::format("{} ({} ms)", row.setting.precision, format_significant(*row.latency->median_ms));
  }

  /// Wide enough for all but single stragglers.
  void choose_axis() {
    double low = 0;
    double high = 0;
    for (const Record* row : rows_) {
      low = std::min(low, percent(*row, quantile(row->latency->raw_ms, 0.01)));
      high = std::max(high, percent(*row, quantile(row->latency->raw_ms, 0.97)));
    }
    const double margin = std::max(0.05 * (high - low), 0.05);
    axis_ = make_axis(ScaleKind::linear, {low - margin, high + margin, gutter_, strip_width - 14, 8});
  }

  void draw_axis() {
    for (const double tick : axis_.ticks) {
      drawing_.line(axis_.at(tick), strip_top, axis_.at(tick), bottom_, tick == 0 ? "ref" : "grid");
      drawing_.text(axis_.at(tick), bottom_ + 15, Anchor::middle,
                    tick == 0 ? "0" : fmt::format("{}{}", tick > 0 ? "+" : "\u2212", plain_number(std::abs(tick))),
                    "tick");
    }
    drawing_.text((gutter_ + strip_width) / 2, bottom_ + 32, Anchor::middle, "% from the row's median");
  }

  void draw_row(const Record& row, double y) {
    drawing_.text(gutter_ - 8, y + 4, Anchor::end, fitted(label(row), gutter_ - 10),
                  row.setting.precision == row.setting.baseline ? "strong" : "");
    if (row.latency->ci_low_ms && row.latency->ci_high_ms) {
      const double from = std::max(axis_.at(percent(row, *row.latency->ci_low_ms)), gutter_);
      const double to = std::min(axis_.at(percent(row, *row.latency->ci_high_ms)), strip_width - 14);
      drawing_.rectangle(from, y - 11, std::max(to - from, 1.0), 22, "band");
    }
    draw_points(row, y);
    const double from = axis_.at(percent(row, quantile(row.latency->raw_ms, 0.25)));
    const double to = axis_.at(percent(row, quantile(row.latency->raw_ms, 0.75)));
    drawing_.line(std::max(from, gutter_), y, std::min(to, strip_width - 14), y, "whisker");
    description_ +=
        fmt::format("{}{}: {} samples, median {} ms, from {} to {} ms", description_.empty() ? "" : "; ",
                    row.setting.precision, row.latency->raw_ms.size(), format_significant(*row.latency->median_ms),
                    format_significant(*std::min_element(row.latency->raw_ms.begin(), row.latency->raw_ms.end())),
                    format_significant(*std::max_element(row.latency->raw_ms.begin(), row.latency->raw_ms.end())));
  }

  /// All of a row as one path of dots: short strokes with round ends.
  void draw_points(const Record& row, double y) {
    const std::size_t every = (row.latency->raw_ms.size() + most_points_ - 1) / most_points_;
    thinned_ = std::max(thinned_, every);
    std::string data;
    for (std::size_t i = 0; i < row.latency->raw_ms.size(); i += every) {
      const double value = percent(row, row.latency->raw_ms[i]);
      if (value < axis_.low || value > axis_.high) ++beyond_;
      const double x = axis_.at(std::clamp(value, axis_.low, axis_.high));
      const double share = row.latency->raw_ms.size() > 1
                               ? static_cast<double>(i) / static_cast<double>(row.latency->raw_ms.size() - 1)
                               : 0.5;
      data += fmt::format("M{:.1f} {:.1f}h0", x, y + 22 * (share - 0.5));
    }
    drawing_.path(data, "dots");
  }

  const ReportSubject& subject_;
  std::vector<const Record*> rows_;
  std::size_t most_points_;
  double bottom_;
  Drawing drawing_;
  double gutter_ = 60;
  Axis axis_;
  std::size_t thinned_ = 1;
  std::size_t beyond_ = 0;
  std::string description_;
};

}  // namespace

std::string distribution_html(const ReportSubject& subject, std::size_t most_points) {
  const std::string heading = fmt::format("<figure class=\"card full\"><h4>{}</h4>", markup_text(subject.name));
  if (sampled(subject).empty()) return heading + "<p class=\"none\">no record holds samples</p></figure>\n";
  DistributionChart chart(subject, most_points);
  const std::string drawn = chart.draw();
  return fmt::format("{}{}<figcaption>{}</figcaption></figure>\n", heading, drawn, chart.caption());
}

}  // namespace assay
