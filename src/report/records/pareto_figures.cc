#include <fmt/format.h>

#include <algorithm>

#include "report/draw/plot.h"
#include "report/records/energy_cells.h"
#include "report/records/figures.h"
#include "report/records/quality_measure.h"
#include "results/identity.h"

namespace assay {
namespace {

/// How a chart reads a record.
struct Costs {
  const char* key;
  const char* caption;
  const char* title;
  const char* unit;
  std::optional<double> (*cost)(const Record& record);
  std::string (*why_none)(const Record& record);
};
constexpr Costs costs[] = {
    {"quality_latency", "Quality against latency", "latency (lower is better)", "ms",
     [](const Record& r) { return r.latency->median_ms; },
     [](const Record& r) { return r.outcome.reason.value_or("not measured"); }},
    {"quality_energy", "Quality against energy", "energy per sample (lower is better)", "J",
     [](const Record& r) { return told_energy_j(r); },
     [](const Record& r) { return to_text(r.energy->energy_status); }},
};

/// The cheapest first; of those that cost the same, the best.
std::vector<Figure::Point> points_by_cost(const ReportSubject& subject, const Costs& which,
                                          const QualityMeasure& quality) {
  std::vector<Figure::Point> all;
  for (const Record* record : subject.records) {
    const std::optional<double> cost = which.cost(*record);
    const std::optional<Figure::Point> gain = quality.point(*record);
    if (record->outcome.status != Status::ok || !gain || cost.value_or(0) <= 0) continue;
    all.push_back({.x = *cost,
                   .y = gain->x,
                   .label = row_name(record->setting),
                   .words = fmt::format("{}: {} {}, {}", row_name(record->setting), plain_number(*cost), which.unit,
                                        plain_number(gain->x))});
  }
  std::stable_sort(all.begin(), all.end(), [&](const Figure::Point& a, const Figure::Point& b) {
    return a.x != b.x ? a.x < b.x : quality.sign * a.y > quality.sign * b.y;
  });
  return all;
}

std::string why_not_drawn(const ReportSubject& subject, const Costs& which, const QualityMeasure& quality) {
  for (const Record* record : subject.records) {
    if (record->outcome.status != Status::ok) continue;
    return quality.point(*record) ? which.why_none(*record) : "quality: " + to_text(record->quality->quality_status);
  }
  return "nothing was measured";
}

/// Steps: what the front costs for at least that gain.
Figure::Series stairs(const std::vector<Figure::Point>& front) {
  Figure::Series line{.name = "the best for its cost"};
  line.points.reserve(2 * front.size());
  for (const Figure::Point& point : front) {
    if (!line.points.empty()) line.points.push_back({.x = point.x, .y = line.points.back().y});
    line.points.push_back({.x = point.x, .y = point.y});
  }
  return line;
}

Figure pareto_figure(const ReportSubject& subject, const Costs& which) {
  const QualityMeasure& quality = quality_measure(subject.records);
  Figure figure{.kind = FigureKind::scatter,
                .key = which.key,
                .caption = which.caption,
                .reason = why_not_drawn(subject, which, quality),
                .x = {.title = which.title, .unit = which.unit, .scale = Figure::Scale::logarithmic},
                .y = {.title = quality.title, .scale = quality.scale},
                .series = {{.name = "beaten by no other in both"}, {.name = "others"}}};
  std::vector<Figure::Point>& front = figure.series[0].points;
  for (Figure::Point& point : points_by_cost(subject, which, quality)) {
    const bool is_better = front.empty() || quality.sign * point.y > quality.sign * front.back().y;
    const bool is_equal = !is_better && point.x == front.back().x && point.y == front.back().y;
    point.is_hollow = !is_better && !is_equal;
    figure.series[point.is_hollow ? 1 : 0].points.push_back(point);
  }
  figure.references = {stairs(front)};
  return figure;
}

}  // namespace

std::vector<Figure> pareto_figures(const ReportSubject& subject) {
  std::vector<Figure> figures;
  figures.reserve(std::size(costs));
  for (const Costs& which : costs) figures.push_back(pareto_figure(subject, which));
  return figures;
}

}  // namespace assay
