#include "report/html/panels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/markup.h"
#include "report/draw/plot.h"
#include "report/html/panel_table.h"

namespace assay {
namespace {

constexpr double chart_width = 380;

/// A row of the chart: one record of one subject.
struct Mark {
  const Record* record = nullptr;
  const ReportSubject* subject = nullptr;
  std::optional<FigurePoint> point;
};

struct PrecisionRows {
  std::string precision;
  std::vector<Mark> marks;
};

bool is_wanted(const FigurePanel& panel, const Record& record, const std::string& unit_text) {
  if (record.outcome.status != Status::ok) return false;
  if (panel.form == FigureForm::bars) return true;
  return (unit_text == "perplexity") == record.quality->perplexity.has_value();
}

std::vector<PrecisionRows> rows_of(const FigurePanel& panel, std::span<const ReportSubject> group) {
  const std::string unit_text = unit_of(panel, group);
  std::vector<PrecisionRows> rows;
  for (const std::string& precision : precisions_of(group)) {
    PrecisionRows row{precision, {}};
    for (const ReportSubject& subject : group) {
      const Record* record = subject.find(precision);
      if (record == nullptr) continue;
      const bool wanted = is_wanted(panel, *record, unit_text);
      row.marks.push_back({record, &subject, wanted ? panel.point(*record) : std::nullopt});
    }
    const bool is_shown = std::any_of(row.marks.begin(), row.marks.end(),
                                      [](const Mark& m) { return m.record->outcome.status == Status::ok; });
    if (is_shown) rows.push_back(std::move(row));  // The others stand in the table of what was left out.
  }
  return rows;
}

struct Range {
  double low = 0;
  double high = 0;
  bool empty = true;

  void take(double value) {
    if (!std::isfinite(value)) return;
    low = empty ? value : std::min(low, value);
    high = empty ? value : std::max(high, value);
    empty = false;
  }
};

Range range_of(const std::vector<PrecisionRows>& rows) {
  Range range;
  for (const PrecisionRows& row : rows) {
    for (const Mark& mark : row.marks) {
      if (!mark.point) continue;
      range.take(mark.point->value);
      if (mark.point->low) range.take(*mark.point->low);
      if (mark.point->high) range.take(*mark.point->high);
    }
  }
  return range;
}

/// Sentences without repetition, for a panel that has no data.
std::string reasons_of(const FigurePanel& panel, std::span<const ReportSubject> group) {
  std::vector<std::string> reasons;
  for (const ReportSubject& subject : group) {
    for (const Record* record : subject.records) {
      if (record->outcome.status != Status::ok) continue;
      const std::string reason = panel.why_none(*record);
      if (std::find(reasons.begin(), reasons.end(), reason) == reasons.end()) reasons.push_back(reason);
    }
  }
  if (reasons.empty()) return "nothing was measured";
  std::string text;
  for (const std::string& reason : reasons) text += (text.empty() ? "" : "; ") + reason;
  return text;
}

/// Draws one panel.
class PanelChart {
 public:
  PanelChart(const FigurePanel& panel, std::span<const ReportSubject> group)
      : panel_(panel), group_(group), rows_(rows_of(panel, group)), drawing_(chart_width, 0) {
    bar_ = group.size() == 1 ? 15 : 11;
    for (const PrecisionRows& row : rows_) gutter_ = std::max(gutter_, text_width(row.precision) + 10);
    gutter_ = std::min(gutter_, 130.0);
    double height = top_;
    for (const PrecisionRows& row : rows_) height += row_height(row);
    bottom_ = height + 4;
    drawing_ = Drawing(chart_width, bottom_ + 34);
  }

  std::string draw() {
    choose_axis();
    draw_axis();
    double y = top_;
    for (const PrecisionRows& row : rows_) {
      draw_row(row, y);
      y += row_height(row);
    }
    return drawing_.markup(fmt::format("{}, {}", panel_.title, unit_of(panel_, group_)), description_);
  }

 private:
  double row_height(const PrecisionRows& row) const {
    return static_cast<double>(std::max<std::size_t>(row.marks.size(), 1)) * (bar_ + 2) + 6;
  }

  void choose_axis() {
    const Range range = range_of(rows_);
    AxisSpan span{0, range.high, gutter_, chart_width - label_room_, 4};
    ScaleKind kind = ScaleKind::linear;
    if (panel_.form == FigureForm::points) {
      const double margin = std::max((range.high - range.low) * 0.15, std::abs(range.high) * 1e-4);
      span.low = range.low - margin;
      span.high = range.high + margin;
      if (range.low > 0 && range.high > 20 * range.low) {
        kind = ScaleKind::logarithmic;
        span.low = range.low / 1.2;
        span.high = range.high * 1.2;
      }
    }
    if (panel_.reference) span.high = std::max(span.high, *panel_.reference);
    axis_ = make_axis(kind, span);
  }

  void draw_axis() {
    for (const double tick : axis_.ticks) {
      drawing_.line(axis_.at(tick), top_ - 4, axis_.at(tick), bottom_, "grid");
      drawing_.text(axis_.at(tick), bottom_ + 13, Anchor::middle, plain_number(tick), "tick");
    }
    if (panel_.reference)
      drawing_.line(axis_.at(*panel_.reference), top_ - 4, axis_.at(*panel_.reference), bottom_, "ref");
    drawing_.line(gutter_, top_ - 4, gutter_, bottom_, "axis");
    drawing_.text((gutter_ + chart_width - label_room_) / 2, bottom_ + 28, Anchor::middle,
                  fmt::format("{} ({})", unit_of(panel_, group_), better_of(panel_, group_)));
  }

  void draw_row(const PrecisionRows& row, double y) {
    const double height = row_height(row) - 6;
    const bool is_baseline = std::any_of(row.marks.begin(), row.marks.end(), [](const Mark& mark) {
      return mark.record->setting.precision == mark.record->setting.baseline;
    });
    drawing_.text(gutter_ - 6, y + height / 2 + 3, Anchor::end, fitted(row.precision, gutter_ - 8),
                  is_baseline ? "strong" : "");
    for (const Mark& mark : row.marks) {
      draw_mark(mark, y + bar_ / 2);
      describe(mark);
      y += bar_ + 2;
    }
  }

  void draw_mark(const Mark& mark, double y) {
    if (!mark.point || !std::isfinite(mark.point->value)) {
      const std::string word = mark.record->outcome.status != Status::ok ? name(mark.record->outcome.status) : "-";
      drawing_.text(gutter_ + 5, y + 4, Anchor::start, word, "mute");
      return;
    }
    const FigurePoint& point = *mark.point;
    const bool is_baseline = mark.record->setting.precision == mark.record->setting.baseline;
    const double x = axis_.at(point.value);
    if (panel_.form == FigureForm::bars) {
      const std::string style = fmt::format("s{}{}", mark.subject->series, is_baseline ? " base" : "");
      drawing_.rectangle(gutter_, y - bar_ / 2, std::max(x - gutter_, 0.5), bar_, style);
    }
    if (point.low && point.high) draw_whisker(axis_.at(*point.low), axis_.at(*point.high), y);
    if (panel_.form == FigureForm::points)
      drawing_.mark(x, y, mark.subject->series, fmt::format("s{}{}", mark.subject->series, is_baseline ? " base" : ""));
    const double right = std::max(x, point.high ? axis_.at(*point.high) : x);
    drawing_.text(right + 6, y + 4, Anchor::start, panel_.text(point.value), "val");
  }

  void draw_whisker(double low, double high, double y) {
    drawing_.path(fmt::format("M{0:.1f} {2:.1f}V{3:.1f}M{0:.1f} {4:.1f}H{1:.1f}M{1:.1f} {2:.1f}V{3:.1f}", low, high,
                              y - 3, y + 3, y),
                  "whisker");
  }

  void describe(const Mark& mark) {
    if (!description_.empty()) description_ += "; ";
    description_ += mark.record->setting.precision;
    if (group_.size() > 1) description_ += " of " + mark.subject->name;
    if (mark.record->setting.precision == mark.record->setting.baseline) description_ += " (baseline)";
    description_ += ": ";
    if (!mark.point) {
      description_ += mark.record->outcome.status != Status::ok ? name(mark.record->outcome.status) : "no figure";
      return;
    }
    description_ += panel_.text(mark.point->value);
    if (mark.point->low && mark.point->high) {
      description_ += fmt::format(" [{}, {}]", panel_.text(*mark.point->low), panel_.text(*mark.point->high));
    }
  }

  const FigurePanel& panel_;
  std::span<const ReportSubject> group_;
  std::vector<PrecisionRows> rows_;
  Drawing drawing_;
  Axis axis_;
  double gutter_ = 40;
  double bar_ = 15;
  double top_ = 8;
  double bottom_ = 0;
  static constexpr double label_room_ = 52;
  std::string description_;
};

std::string panel_html(const FigurePanel& panel, std::span<const ReportSubject> group) {
  const std::string heading = fmt::format("<figure class=\"card\"><h4>{}</h4>", panel.title);
  if (range_of(rows_of(panel, group)).empty) {
    return fmt::format("{}<p class=\"none\">{}</p></figure>\n", heading, markup_text(reasons_of(panel, group)));
  }
  return fmt::format("{}{}<figcaption>{}</figcaption></figure>\n", heading, PanelChart(panel, group).draw(),
                     markup_text(panel.bars_mean));
}

}  // namespace

std::string legend_html(std::span<const ReportSubject> group) {
  if (group.size() < 2) return "";
  std::string text = "<ul class=\"legend\">";
  for (const ReportSubject& subject : group) {
    Drawing swatch(14, 14);
    swatch.mark(7, 7, subject.series, fmt::format("s{}", subject.series));
    text += fmt::format("<li>{}{}</li>", swatch.decoration(), markup_text(subject.name));
  }
  return text + "</ul>\n";
}

std::string panels_html(std::span<const ReportSubject> group) {
  std::string text = legend_html(group);
  text += "<div class=\"cards\">\n";
  for (const FigurePanel& panel : figure_panels()) text += panel_html(panel, group);
  return text + "</div>\n";
}

}  // namespace assay
