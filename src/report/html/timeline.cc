#include "report/html/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/markup.h"
#include "base/units.h"
#include "report/draw/plot.h"

namespace assay {
namespace {

constexpr double width = 720;
constexpr double height = 240;
constexpr double left = 62;
constexpr double right = width - 14;
constexpr double top = 12;
constexpr double bottom = 44;
constexpr std::size_t most_lines = 8;     ///< As many as there are colours.
constexpr std::size_t most_points = 400;  ///< Of a line; beyond, neighbours share one.

/// One value after the other, and the records that have exactly these.
struct Line {
  const Record* record = nullptr;
  const std::vector<double>* values = nullptr;
  std::string names;
};

/// What a chart of steps shows.
struct Timeline {
  const std::vector<double>& (*values)(const Record&);
  double unit;  ///< What of the values is 1 on the axis.
  const char* y_label;
  const char* x_label;
  const char* title;
  std::string (*legend)(const Line& line);
  double (*shared)(std::span<const double> neighbours);  ///< Their one point.
};

double largest(std::span<const double> values) {
  return *std::max_element(values.begin(), values.end());
}

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double most_of(const Line& line) {
  return largest(*line.values);
}

std::vector<Line> lines_of(const ReportSubject& subject, const Timeline& timeline) {
  std::vector<Line> lines;
  for (const Record* record : subject.records) {
    const std::vector<double>& values = timeline.values(*record);
    if (values.size() < 2) continue;
    const auto same =
        std::find_if(lines.begin(), lines.end(), [&](const Line& line) { return *line.values == values; });
    if (same != lines.end()) {
      same->names += ", " + record->setting.precision;
    } else {
      lines.push_back({record, &values, record->setting.precision});
    }
  }
  return lines;
}

std::string step_path(std::span<const double> values, const Timeline& timeline, const Axis& y) {
  const double step = (right - left) / static_cast<double>(values.size());
  const std::size_t neighbours = (values.size() + most_points - 1) / most_points;
  std::string data;
  for (std::size_t i = 0; i < values.size(); i += neighbours) {
    const auto group = values.subspan(i, std::min(neighbours, values.size() - i));
    const double x = left + step * static_cast<double>(i);
    data += fmt::format("{}{:.1f} {:.1f}H{:.1f}", data.empty() ? "M" : "L", x,
                        y.at(timeline.shared(group) / timeline.unit), x + step * static_cast<double>(group.size()));
  }
  return data;
}

Axis draw_axes(Drawing& drawing, double most, const Timeline& timeline) {
  const Axis y = make_axis(ScaleKind::linear, {0, most * 1.05, height - bottom, top, 5});
  for (const double tick : y.ticks) {
    drawing.line(left, y.at(tick), right, y.at(tick), "grid");
    drawing.text(left - 6, y.at(tick) + 4, Anchor::end, plain_number(tick), "tick");
  }
  drawing.path(fmt::format("M{0} {1}V{2}H{3}", left, top, height - bottom, right), "axis");
  drawing.vertical_text(14, (top + height - bottom) / 2, timeline.y_label);
  drawing.text((left + right) / 2, height - 22, Anchor::middle, timeline.x_label);
  return y;
}

std::string chart(const ReportSubject& subject, const std::vector<Line>& lines, const Timeline& timeline) {
  double most = 0;
  for (const Line& line : lines) most = std::max(most, most_of(line) / timeline.unit);
  Drawing drawing(width, height);
  const Axis y = draw_axes(drawing, most, timeline);
  std::string description;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    drawing.path(step_path(*lines[i].values, timeline, y), fmt::format("line l{}", i));
    description += fmt::format("{}{}: {}", i ? "; " : "", lines[i].names, timeline.legend(lines[i]));
  }
  return drawing.markup(fmt::format("{}, {}", timeline.title, subject.title), description);
}

std::string legend(const std::vector<Line>& lines, const Timeline& timeline) {
  std::string text = "<ul class=\"legend\">";
  for (std::size_t i = 0; i < lines.size(); ++i) {
    Drawing swatch(26, 14);
    swatch.line(1, 7, 25, 7, fmt::format("line l{}", i));
    text += fmt::format("<li>{}{}: {}</li>", swatch.decoration(), markup_text(lines[i].names),
                        markup_text(timeline.legend(lines[i])));
  }
  return text + "</ul>";
}

/// Legend and chart; empty where no record has values.
std::string drawn(const ReportSubject& subject, const Timeline& timeline) {
  std::vector<Line> lines = lines_of(subject, timeline);
  if (lines.empty()) return "";
  const std::size_t left_out = lines.size() - std::min(lines.size(), most_lines);
  lines.resize(lines.size() - left_out);
  std::string text = legend(lines, timeline) + chart(subject, lines, timeline);
  if (left_out > 0) text += fmt::format("<p class=\"none\">{} more lines are left out</p>", left_out);
  return text;
}

std::string memory_words(const Line& line) {
  return fmt::format("peak {} of buffers beside {} of weights", format_bytes(most_of(line)),
                     format_bytes(static_cast<double>(line.record->memory->packed_bytes.value_or(0))));
}

std::string power_words(const Line& line) {
  const double least = *std::min_element(line.values->begin(), line.values->end());
  return fmt::format("{} to {} W in {} windows", format_significant(least), format_significant(most_of(line)),
                     line.values->size());
}

std::string power_rows(const ReportSubject& subject) {
  std::string rows;
  const auto watts = [](const std::optional<double>& value) { return value ? format_significant(*value) : "-"; };
  for (const Record* record : subject.records) {
    if (record->outcome.status != Status::ok || !record->energy->power_w) continue;
    rows += fmt::format("<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td><td class=\"text\">{}</td></tr>",
                        markup_text(record->setting.precision), watts(record->energy->power_w),
                        watts(record->energy->idle_power_w), watts(record->energy->power_limit_w),
                        markup_text(to_text(record->energy->energy_status)));
  }
  return rows;
}

std::string why_no_power(const ReportSubject& subject) {
  for (const Record* record : subject.records) {
    if (record->outcome.status == Status::ok) return to_text(record->energy->energy_status);
  }
  return "nothing was measured";
}

std::string heading(const char* what, const ReportSubject& subject) {
  return fmt::format("<figure class=\"card full\"><h4>{}: {}</h4>", what, markup_text(subject.name));
}

}  // namespace

std::string memory_timeline_html(const ReportSubject& subject) {
  constexpr Timeline memory = {[](const Record& r) -> const std::vector<double>& { return r.memory->live_bytes; },
                               1e6,
                               "live buffers, MB",
                               "operations of one pass, first to last",
                               "Memory over one pass",
                               memory_words,
                               largest};
  const std::string figure = drawn(subject, memory);
  if (figure.empty()) {
    return heading("Memory", subject) +
           "<p class=\"none\">not recorded: these records hold no bytes of single operations</p></figure>\n";
  }
  return heading("Memory", subject) + figure +
         "<figcaption>what the plan's buffers hold during each operation; precisions with equal lines share "
         "one</figcaption></figure>\n";
}

std::string power_html(const ReportSubject& subject) {
  constexpr Timeline power = {[](const Record& r) -> const std::vector<double>& { return r.energy->window_power_w; },
                              1,
                              "W",
                              "metered windows, first to last",
                              "Power",
                              power_words,
                              mean};
  const std::string rows = power_rows(subject);
  if (rows.empty())
    return fmt::format("{}<p class=\"none\">{}</p></figure>\n", heading("Power", subject),
                       markup_text(why_no_power(subject)));
  return fmt::format(
      "{}{}<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"power\"><table><thead><tr><th "
      "scope=\"col\">precision</th><th scope=\"col\">mean W</th><th scope=\"col\">idle W</th><th scope=\"col\">limit "
      "W</th><th scope=\"col\">meter</th></tr></thead><tbody>{}</tbody></table></div><figcaption>mean power of each "
      "window; windows of the precisions took turns</figcaption></figure>\n",
      heading("Power", subject), drawn(subject, power), rows);
}

}  // namespace assay
