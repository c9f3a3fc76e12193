#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/units.h"
#include "report/records/figures.h"
#include "results/identity.h"
#include "statistics/statistics.h"

namespace assay {
namespace {

/// Samples of a record as percent from their median.
struct SampledRow {
  const Record* record = nullptr;
  std::vector<double> changes = {};    ///< As they were taken.
  std::vector<double> ascending = {};  ///< The same by size.

  double change(double ms) const { return 100 * (ms / *record->latency->median_ms - 1); }
};

std::vector<SampledRow> sampled_rows(const ReportSubject& subject) {
  std::vector<SampledRow> rows;
  for (const Record* record : subject.records) {
    if (record->latency->raw_ms.empty() || record->latency->median_ms.value_or(0) <= 0) continue;
    SampledRow& row = rows.emplace_back(SampledRow{.record = record});
    row.changes.reserve(record->latency->raw_ms.size());
    for (const double ms : record->latency->raw_ms) row.changes.push_back(row.change(ms));
    row.ascending = row.changes;
    std::sort(row.ascending.begin(), row.ascending.end());
  }
  return rows;
}

/// Wide enough for all but single stragglers.
void set_limits(Figure::Axis& axis, const std::vector<SampledRow>& rows) {
  double low = 0;
  double high = 0;
  for (const SampledRow& row : rows) {
    low = std::min(low, quantile(row.ascending, 0.01));
    high = std::max(high, quantile(row.ascending, 0.97));
  }
  const double margin = std::max(0.05 * (high - low), 0.05);
  axis.low = low - margin;
  axis.high = high + margin;
}

std::string words_of_samples(const SampledRow& row) {
  const std::vector<double>& ms = row.record->latency->raw_ms;
  return fmt::format("{}: {} samples, median {} ms, from {} to {} ms", row_name(row.record->setting), ms.size(),
                     format_significant(*row.record->latency->median_ms),
                     format_significant(*std::min_element(ms.begin(), ms.end())),
                     format_significant(*std::max_element(ms.begin(), ms.end())));
}

/// The samples of rows, thinned alike, and what is drawn with them.
class SampleSeries {
 public:
  explicit SampleSeries(std::size_t most_points) : most_points_(most_points) {}

  void add(const SampledRow& row, double y) {
    const Latency& latency = *row.record->latency;
    if (latency.ci_low_ms && latency.ci_high_ms) {
      intervals_.points.push_back({.y = y,
                                   .low = row.change(*latency.ci_low_ms),
                                   .high = row.change(*latency.ci_high_ms),
                                   .words = words_of_samples(row)});
    }
    quartiles_.points.push_back({.y = y, .low = quantile(row.ascending, 0.25), .high = quantile(row.ascending, 0.75)});
    const std::size_t every = (row.changes.size() + most_points_ - 1) / most_points_;
    thinned_ = std::max(thinned_, every);
    const double last = static_cast<double>(std::max<std::size_t>(row.changes.size(), 2) - 1);
    for (std::size_t i = 0; i < row.changes.size(); i += every)
      samples_.points.push_back({.x = row.changes[i], .y = y + 0.7 * (static_cast<double>(i) / last - 0.5)});
  }

  std::string legend(const Figure::Axis& axis) const {
    std::string text = "samples stand in the order in which they were taken, from the top of each row to its bottom";
    if (thinned_ > 1) text += fmt::format("; of long series every {}th sample is drawn", thinned_);
    const auto beyond = std::count_if(samples_.points.begin(), samples_.points.end(), [&](const Figure::Point& point) {
      return point.x < *axis.low || point.x > *axis.high;
    });
    return beyond == 0 ? text : text + fmt::format("; {} samples lie further out and stand at the edge", beyond);
  }

  std::vector<Figure::Series> all() const { return {intervals_, samples_, quartiles_}; }

 private:
  std::size_t most_points_;
  std::size_t thinned_ = 1;
  Figure::Series intervals_{.name = "95 % interval of the median", .mark = Figure::Mark::band};
  Figure::Series samples_{.name = "samples", .mark = Figure::Mark::dot};
  Figure::Series quartiles_{.name = "quartiles", .mark = Figure::Mark::whisker};
};

/// What a chart of values one after the other shows.
struct Course {
  const std::vector<double>& (*values)(const Record& record);
  double unit;  ///< What of the values is 1 on the axis.
  std::string (*words)(const Record& record);
  double (*shared)(std::span<const double> neighbours);  ///< The one point of several.
};

double largest(std::span<const double> values) {
  return *std::max_element(values.begin(), values.end());
}

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// The last value is kept to the end of its step.
std::vector<Figure::Point> points_of(std::span<const double> values, const Course& course) {
  constexpr std::size_t most = 400;
  const std::size_t neighbours = (values.size() + most - 1) / most;
  std::vector<Figure::Point> points;
  points.reserve(values.size() / neighbours + 2);
  for (std::size_t i = 0; i < values.size(); i += neighbours) {
    const auto together = values.subspan(i, std::min(neighbours, values.size() - i));
    points.push_back({.x = static_cast<double>(i), .y = course.shared(together) / course.unit});
  }
  points.push_back({.x = static_cast<double>(values.size()), .y = points.back().y});
  return points;
}

/// A line for all records that have exactly the same values.
std::vector<Figure::Series> lines_of(const ReportSubject& subject, const Course& course) {
  std::vector<const Record*> firsts;
  std::vector<Figure::Series> lines;
  for (const Record* record : subject.records) {
    const std::vector<double>& values = course.values(*record);
    if (values.size() < 2) continue;
    const auto same = std::find_if(firsts.begin(), firsts.end(),
                                   [&](const Record* first) { return course.values(*first) == values; });
    if (same == firsts.end()) {
      firsts.push_back(record);
      lines.push_back({.name = row_name(record->setting), .points = points_of(values, course)});
    } else {
      lines[static_cast<std::size_t>(same - firsts.begin())].name += ", " + row_name(record->setting);
    }
  }
  for (std::size_t i = 0; i < lines.size(); ++i) lines[i].name += ": " + course.words(*firsts[i]);
  return lines;
}

std::string memory_words(const Record& record) {
  return fmt::format("peak {} of buffers beside {} of weights", format_bytes(largest(record.memory->live_bytes)),
                     format_bytes(static_cast<double>(record.memory->packed_bytes.value_or(0))));
}

std::string power_words(const Record& record) {
  const std::vector<double>& watts = record.energy->window_power_w;
  return fmt::format("{} to {} W in {} windows", format_significant(*std::min_element(watts.begin(), watts.end())),
                     format_significant(largest(watts)), watts.size());
}

std::string why_no_power(const ReportSubject& subject) {
  for (const Record* record : subject.records) {
    if (record->outcome.status == Status::ok) return to_text(record->energy->energy_status);
  }
  return "nothing was measured";
}

constexpr Course memory_course = {[](const Record& r) -> const std::vector<double>& { return r.memory->live_bytes; },
                                  1e6, memory_words, largest};
constexpr Course power_course = {[](const Record& r) -> const std::vector<double>& { return r.energy->window_power_w; },
                                 1, power_words, mean};

}  // namespace

Figure samples_figure(const ReportSubject& subject, std::size_t most_points) {
  const std::vector<SampledRow> rows = sampled_rows(subject);
  Figure figure{.kind = FigureKind::scatter,
                .key = "samples",
                .caption = "Samples of " + subject.name,
                .reason = "no record holds samples",
                .x = {.title = "% from the row's median"}};
  set_limits(figure.x, rows);
  SampleSeries series(most_points);
  for (const SampledRow& row : rows) {
    series.add(row, static_cast<double>(figure.y.categories.size()));
    figure.y.categories.push_back(
        fmt::format("{} ({} ms)", row_name(row.record->setting), format_significant(*row.record->latency->median_ms)));
  }
  figure.legend = series.legend(figure.x);
  figure.series = series.all();
  const double bottom = static_cast<double>(rows.size()) - 0.5;
  figure.references = {{.points = {{.x = 0, .y = -0.5}, {.x = 0, .y = bottom}}}};
  return figure;
}

Figure memory_figure(const ReportSubject& subject) {
  return {.kind = FigureKind::steps,
          .key = "memory",
          .caption = "Memory: " + subject.name,
          .legend = "what the plan's buffers hold during each operation; precisions with equal lines share one",
          .reason = "not recorded: these records hold no bytes of single operations",
          .x = {.title = "operations of one pass, first to last"},
          .y = {.title = "live buffers", .unit = "MB"},
          .series = lines_of(subject, memory_course)};
}

Figure power_figure(const ReportSubject& subject) {
  return {.kind = FigureKind::steps,
          .key = "power",
          .caption = "Power: " + subject.name,
          .legend = "mean power of each window; windows of the precisions took turns",
          .reason = why_no_power(subject),
          .x = {.title = "metered windows, first to last"},
          .y = {.title = "power", .unit = "W"},
          .series = lines_of(subject, power_course)};
}

}  // namespace assay
