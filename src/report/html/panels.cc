#include "report/html/panels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/markup.h"
#include "report/html/plot.h"

namespace assay {
namespace {

constexpr double chart_width = 380;

/// One figure with its 95 % interval, where it has one.
struct Point {
  double value = 0;
  std::optional<double> low = {};
  std::optional<double> high = {};
};

enum class Form : std::uint8_t {
  bars,    ///< From zero.
  points,  ///< Where zero is far away and differences are small.
};

struct Panel {
  const char* title;
  const char* unit;    ///< Empty: what the quality is measured by.
  const char* better;  ///< Which direction is better.
  const char* bars_mean;
  Form form;
  std::optional<Point> (*point)(const Record& record);
  std::string (*why_none)(const Record& record);
  std::string (*text)(double value) = plain_number;
};

/// Two decimals: what an interval from a noisy machine can carry.
std::string ratio_text(double value) {
  return value < 9.995 ? fmt::format("{:.2f}", value) : plain_number(value);
}

/// Differences of quality are small beside it.
std::string quality_text(double value) {
  return value < 9999.5 ? fmt::format("{:.4g}", value) : fmt::format("{:.3g}", value);
}

std::optional<Point> latency(const Record& r) {
  if (!r.median_ms) return std::nullopt;
  return Point{*r.median_ms, r.ci_low_ms, r.ci_high_ms};
}

std::optional<Point> speedup(const Record& r) {
  if (!r.speedup) return std::nullopt;
  return Point{*r.speedup, r.speedup_low, r.speedup_high};
}

std::optional<Point> energy(const Record& r) {
  if (!r.energy_j) return std::nullopt;
  return Point{*r.energy_j};
}

std::optional<Point> throughput(const Record& r) {
  if (!r.tokens_per_s) return std::nullopt;
  return Point{*r.tokens_per_s};
}

/// The interval is that of the change from the baseline, on the same data.
std::optional<Point> quality(const Record& r) {
  if (r.perplexity) {
    Point point{*r.perplexity};
    if (r.delta_log_perplexity && r.delta_log_perplexity_low && r.delta_log_perplexity_high) {
      point.low = *r.perplexity * std::exp(*r.delta_log_perplexity_low - *r.delta_log_perplexity);
      point.high = *r.perplexity * std::exp(*r.delta_log_perplexity_high - *r.delta_log_perplexity);
    }
    return point;
  }
  if (!r.accuracy) return std::nullopt;
  Point point{100 * *r.accuracy};
  if (r.accuracy_change && r.accuracy_change_low && r.accuracy_change_high) {
    point.low = 100 * (*r.accuracy - *r.accuracy_change + *r.accuracy_change_low);
    point.high = 100 * (*r.accuracy - *r.accuracy_change + *r.accuracy_change_high);
  }
  return point;
}

std::optional<Point> model_size(const Record& r) {
  if (!r.model_bytes) return std::nullopt;
  return Point{static_cast<double>(*r.model_bytes) / 1e6};
}

std::string no_median(const Record& r) {
  return r.reason.value_or("not measured");
}

std::string no_speedup(const Record& r) {
  return r.reason.value_or(fmt::format("{} was not timed beside it", r.baseline));
}

std::string quality_unit(std::span<const Subject> group) {
  for (const Subject& subject : group) {
    for (const Record* record : subject.records) {
      if (record->perplexity) return "perplexity";
      if (record->accuracy) return "accuracy, %";
    }
  }
  return "";
}

const char* quality_better(std::span<const Subject> group) {
  return quality_unit(group) == "perplexity" ? "lower is better" : "higher is better";
}

std::string unit_of(const Panel& panel, std::span<const Subject> group) {
  return *panel.unit ? panel.unit : quality_unit(group);
}

constexpr Panel panels[] = {
    {"Latency", "ms", "lower is better", "bars: median; whiskers: its 95 % interval", Form::bars, latency, no_median},
    {"Speed-up", "x", "higher is better",
     "bars: median over rounds against the baseline; whiskers: its 95 % interval; line: the baseline", Form::bars,
     speedup, no_speedup, ratio_text},
    {"Energy per sample", "J", "lower is better", "bars: gross energy of one sequence", Form::bars, energy,
     [](const Record& r) { return r.energy_status; }},
    {"Throughput", "tokens/s", "higher is better", "bars: mean over all windows", Form::bars, throughput, no_median},
    {"Quality", "", "", "points; whiskers: 95 % interval of the change from the baseline on the same data",
     Form::points, quality, [](const Record& r) { return r.quality_status; }, quality_text},
    {"Model size", "MB", "lower is better", "bars: parameters as stored in memory, 10⁶ bytes", Form::bars, model_size,
     no_median},
};

/// A row of the chart: one record of one subject.
struct Mark {
  const Record* record = nullptr;
  const Subject* subject = nullptr;
  std::optional<Point> point;
};

struct PrecisionRows {
  std::string precision;
  std::vector<Mark> marks;
};

bool is_wanted(const Panel& panel, const Record& record, const std::string& unit_text) {
  if (record.status != Status::ok) return false;
  if (panel.form == Form::bars) return true;
  return (unit_text == "perplexity") == record.perplexity.has_value();
}

std::vector<PrecisionRows> rows_of(const Panel& panel, std::span<const Subject> group) {
  const std::string unit_text = unit_of(panel, group);
  std::vector<PrecisionRows> rows;
  for (const std::string& precision : precisions_of(group)) {
    PrecisionRows row{precision, {}};
    for (const Subject& subject : group) {
      const Record* record = subject.find(precision);
      if (record == nullptr) continue;
      const bool wanted = is_wanted(panel, *record, unit_text);
      row.marks.push_back({record, &subject, wanted ? panel.point(*record) : std::nullopt});
    }
    const bool is_shown =
        std::any_of(row.marks.begin(), row.marks.end(), [](const Mark& m) { return m.record->status == Status::ok; });
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
std::string reasons_of(const Panel& panel, std::span<const Subject> group) {
  std::vector<std::string> reasons;
  for (const Subject& subject : group) {
    for (const Record* record : subject.records) {
      if (record->status != Status::ok) continue;
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
  PanelChart(const Panel& panel, std::span<const Subject> group)
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
  bool has_reference() const { return panel_.point == speedup; }

  double row_height(const PrecisionRows& row) const {
    return static_cast<double>(std::max<std::size_t>(row.marks.size(), 1)) * (bar_ + 2) + 6;
  }

  void choose_axis() {
    const Range range = range_of(rows_);
    AxisSpan span{0, range.high, gutter_, chart_width - label_room_, 4};
    ScaleKind kind = ScaleKind::linear;
    if (panel_.form == Form::points) {
      const double margin = std::max((range.high - range.low) * 0.15, std::abs(range.high) * 1e-4);
      span.low = range.low - margin;
      span.high = range.high + margin;
      if (range.low > 0 && range.high > 20 * range.low) {
        kind = ScaleKind::logarithmic;
        span.low = range.low / 1.2;
        span.high = range.high * 1.2;
      }
    }
    if (has_reference()) span.high = std::max(span.high, 1.0);
    axis_ = make_axis(kind, span);
  }

  void draw_axis() {
    for (const double tick : axis_.ticks) {
      drawing_.line(axis_.at(tick), top_ - 4, axis_.at(tick), bottom_, "grid");
      drawing_.text(axis_.at(tick), bottom_ + 13, Anchor::middle, plain_number(tick), "tick");
    }
    if (has_reference()) drawing_.line(axis_.at(1), top_ - 4, axis_.at(1), bottom_, "ref");
    drawing_.line(gutter_, top_ - 4, gutter_, bottom_, "axis");
    const char* better = panel_.form == Form::points ? quality_better(group_) : panel_.better;
    drawing_.text((gutter_ + chart_width - label_room_) / 2, bottom_ + 28, Anchor::middle,
                  fmt::format("{} ({})", unit_of(panel_, group_), better));
  }

  void draw_row(const PrecisionRows& row, double y) {
    const double height = row_height(row) - 6;
    const bool is_baseline = std::any_of(row.marks.begin(), row.marks.end(), [](const Mark& mark) {
      return mark.record->precision == mark.record->baseline;
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
      const std::string word = mark.record->status != Status::ok ? name(mark.record->status) : "-";
      drawing_.text(gutter_ + 5, y + 4, Anchor::start, word, "mute");
      return;
    }
    const Point& point = *mark.point;
    const bool is_baseline = mark.record->precision == mark.record->baseline;
    const double x = axis_.at(point.value);
    if (panel_.form == Form::bars) {
      const std::string style = fmt::format("s{}{}", mark.subject->series, is_baseline ? " base" : "");
      drawing_.rectangle(gutter_, y - bar_ / 2, std::max(x - gutter_, 0.5), bar_, style);
    }
    if (point.low && point.high) draw_whisker(axis_.at(*point.low), axis_.at(*point.high), y);
    if (panel_.form == Form::points)
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
    description_ += mark.record->precision;
    if (group_.size() > 1) description_ += " of " + mark.subject->name;
    if (mark.record->precision == mark.record->baseline) description_ += " (baseline)";
    description_ += ": ";
    if (!mark.point) {
      description_ += mark.record->status != Status::ok ? name(mark.record->status) : "no figure";
      return;
    }
    description_ += panel_.text(mark.point->value);
    if (mark.point->low && mark.point->high) {
      description_ += fmt::format(" [{}, {}]", panel_.text(*mark.point->low), panel_.text(*mark.point->high));
    }
  }

  const Panel& panel_;
  std::span<const Subject> group_;
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

std::string panel_html(const Panel& panel, std::span<const Subject> group) {
  const std::string heading = fmt::format("<figure class=\"card\"><h4>{}</h4>", panel.title);
  if (range_of(rows_of(panel, group)).empty) {
    return fmt::format("{}<p class=\"none\">{}</p></figure>\n", heading, markup_text(reasons_of(panel, group)));
  }
  return fmt::format("{}{}<figcaption>{}</figcaption></figure>\n", heading, PanelChart(panel, group).draw(),
                     markup_text(panel.bars_mean));
}

}  // namespace

std::string legend_html(std::span<const Subject> group) {
  if (group.size() < 2) return "";
  std::string text = "<ul class=\"legend\">";
  for (const Subject& subject : group) {
    Drawing swatch(14, 14);
    swatch.mark(7, 7, subject.series, fmt::format("s{}", subject.series));
    text += fmt::format("<li>{}{}</li>", swatch.decoration(), markup_text(subject.name));
  }
  return text + "</ul>\n";
}

std::string panels_html(std::span<const Subject> group) {
  std::string text = legend_html(group);
  text += "<div class=\"cards\">\n";
  for (const Panel& panel : panels) text += panel_html(panel, group);
  return text + "</div>\n";
}

}  // namespace assay
