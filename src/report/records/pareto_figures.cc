#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "report/draw/plot.h"
#include "report/records/figures.h"
#include "report/records/quality_measure.h"

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
     [](const Record& r) { return r.energy->energy_j; }, [](const Record& r) { return r.energy->energy_status; }},
};

std::vector<Tradeoff> tradeoffs_of(const ReportSubject& subject, const Costs& which, const QualityMeasure& quality) {
  std::vector<Tradeoff> all;
  for (const Record* record : subject.records) {
    const std::optional<double> cost = which.cost(*record);
    const std::optional<Figure::Point> gain = quality.point(*record);
    if (record->outcome.status == Status::ok && cost && gain && *cost > 0)
      all.push_back({record->setting.precision, *cost, quality.sign * gain->x});
  }
  return all;
}

std::string why_not_drawn(const ReportSubject& subject, const Costs& which, const QualityMeasure& quality) {
  for (const Record* record : subject.records) {
    if (record->outcome.status != Status::ok) continue;
    return quality.point(*record) ? which.why_none(*record) : "quality: " + record->quality->quality_status;
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
  const std::vector<Tradeoff> all = tradeoffs_of(subject, which, quality);
  Figure figure{.kind = FigureKind::scatter,
                .key = which.key,
                .caption = which.caption,
                .reason = why_not_drawn(subject, which, quality),
                .x = {.title = which.title, .unit = which.unit, .scale = Figure::Scale::logarithmic},
                .y = {.title = quality.title},
                .series = {{.name = "beaten by no other in both"}, {.name = "others"}}};
  std::vector<bool> on_front(all.size(), false);
  const auto add = [&](std::size_t i, std::size_t series) {
    const double gain = quality.sign * all[i].gain;
    figure.series[series].points.push_back(
        {.x = all[i].cost,
         .y = gain,
         .label = all[i].precision,
         .words = fmt::format("{}: {} {}, {}{}", all[i].precision, plain_number(all[i].cost), which.unit,
                              plain_number(gain), series == 0 ? ", on the front" : ""),
         .is_hollow = series == 1});
    on_front[i] = true;
  };
  for (const std::size_t i : pareto_front(all)) add(i, 0);
  figure.references = {stairs(figure.series[0].points)};
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!on_front[i]) add(i, 1);
  }
  return figure;
}

}  // namespace

std::vector<std::size_t> pareto_front(std::span<const Tradeoff> tradeoffs) {
  std::vector<std::size_t> order(tradeoffs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    if (tradeoffs[a].cost != tradeoffs[b].cost) return tradeoffs[a].cost < tradeoffs[b].cost;
    return tradeoffs[a].gain > tradeoffs[b].gain;
  });
  std::vector<std::size_t> front;
  for (const std::size_t i : order) {
    const bool is_equal = !front.empty() && tradeoffs[i].cost == tradeoffs[front.back()].cost &&
                          tradeoffs[i].gain == tradeoffs[front.back()].gain;
    if (front.empty() || is_equal || tradeoffs[i].gain > tradeoffs[front.back()].gain) front.push_back(i);
  }
  return front;
}

std::vector<Figure> pareto_figures(const ReportSubject& subject) {
  std::vector<Figure> figures;
  figures.reserve(std::size(costs));
  for (const Costs& which : costs) figures.push_back(pareto_figure(subject, which));
  return figures;
}

}  // namespace assay
