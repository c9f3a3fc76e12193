#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/draw/plot.h"
#include "report/mode_words.h"
#include "report/phrases.h"
#include "report/records/energy_cells.h"
#include "report/records/figures.h"
#include "report/records/quality_measure.h"
#include "report/text.h"
#include "results/identity.h"

namespace assay {
namespace {

struct Panel {
  const char* key;
  const char* caption;
  const char* title;  ///< Of the axis; of quality empty, as each measure has its own.
  const char* unit;   ///< "{}": what is counted a second.
  const char* legend;
  std::optional<Figure::Point> (*point)(const Record& record);
  std::string (*why_none)(const Record& record);
  std::string (*text)(double value) = plain_number;
};

/// Differences of quality are small beside it; a correlation is 1 only where it is 1.
std::string quality_text(double value) {
  if (value < 1 && value > 0.999) return fmt::format("{:.6f}", std::trunc(value * 1e6) / 1e6);
  return value < 9999.5 ? fmt::format("{:.4g}", value) : fmt::format("{:.3g}", value);
}

std::optional<Figure::Point> latency_point(const Record& r) {
  return measured_point(r.latency->median_ms, r.latency->ci_low_ms, r.latency->ci_high_ms);
}

std::optional<Figure::Point> speedup_point(const Record& r) {
  return measured_point(r.speedup->speedup, r.speedup->speedup_low, r.speedup->speedup_high);
}

std::optional<Figure::Point> model_size_point(const Record& r) {
  if (!r.memory->model_bytes) return std::nullopt;
  return measured_point(static_cast<double>(*r.memory->model_bytes) / 1e6);
}

std::string no_median(const Record& r) {
  return r.outcome.reason.value_or("not measured");
}

std::string no_speedup(const Record& r) {
  return r.outcome.reason.value_or(fmt::format("{} was not timed beside it", r.setting.baseline));
}

constexpr Panel panels[] = {
    {"latency", "Latency", "latency (lower is better)", "ms", "bars: median; whiskers: its 95 % interval",
     latency_point, no_median},
    {"speedup", "Speed-up", "speed-up (higher is better)", "x",
     "bars: median over rounds against the baseline; whiskers: its 95 % interval; line: the baseline", speedup_point,
     no_speedup, ratio_text},
    {"energy", "Energy per sample", "energy (lower is better)", "J",
     "bars: gross energy of one sequence, of a program of one run",
     [](const Record& r) { return measured_point(told_energy_j(r)); },
     [](const Record& r) { return to_text(r.energy->energy_status); }},
    {"throughput", "Throughput", "throughput (higher is better)", "{}/s", "bars: mean over all windows",
     [](const Record& r) { return measured_point(r.rates.tokens_per_s); }, no_median},
    {"quality", "Quality", "", "", "points; whiskers: 95 % interval of the change from the baseline on the same data",
     nullptr, [](const Record& r) { return to_text(r.quality->quality_status); }, quality_text},
    {"model_size", "Model size", "parameters (lower is better)", "MB",
     "bars: parameters as stored in memory, 10⁶ bytes", model_size_point, no_median},
};

Records records_of(std::span<const ReportSubject> group) {
  Records all;
  for (const ReportSubject& subject : group) all.insert(all.end(), subject.records.begin(), subject.records.end());
  return all;
}

/// Sentences without repetition.
std::string missing_reasons(const Panel& panel, Records records) {
  std::erase_if(records, [](const Record* record) { return record->outcome.status != Status::ok; });
  const std::vector<std::string> reasons = distinct(records, panel.why_none);
  return reasons.empty() ? "nothing was measured" : fmt::format("{}", fmt::join(reasons, "; "));
}

/// Precisions of which a row was measured; the others stand in the table of what was left out.
std::vector<std::string> shown_precisions(std::span<const ReportSubject> group) {
  std::vector<std::string> precisions = precisions_of(group);
  std::erase_if(precisions, [&](const std::string& precision) {
    return std::none_of(group.begin(), group.end(), [&](const ReportSubject& subject) {
      const Record* record = subject.find(precision);
      return record != nullptr && record->outcome.status == Status::ok;
    });
  });
  return precisions;
}

/// What of a record stands in row `row`: a figure, or a word in its place.
Figure::Point shown_point(const Panel& panel, std::optional<Figure::Point> figure, const Record& record, double row) {
  const bool is_ok = record.outcome.status == Status::ok;
  if (!is_ok || !figure || !std::isfinite(figure->x)) {
    return {.x = std::nan(""),
            .y = row,
            .label = is_ok ? "-" : name(record.outcome.status),
            .words = is_ok ? "no figure" : name(record.outcome.status)};
  }
  figure->y = row;
  figure->label = panel.text(figure->x);
  figure->words = figure->label;
  if (figure->low && figure->high)
    figure->words += fmt::format(" [{}, {}]", panel.text(*figure->low), panel.text(*figure->high));
  return *figure;
}

/// A figure of quality that is of a part of the data says so.
void mark_part(const Record& record, Figure::Point& point) {
  const std::optional<ScoredPart> part = scored_part(record.quality->quality_status);
  if (!part || std::isnan(point.x)) return;
  point.label += " (a part)";
  point.words += fmt::format(", {} scored", to_text(*part));
}

bool is_of_low_grade(const Record& record) {
  return record.grade.trust == Trust::c || record.grade.trust == Trust::d;
}

/// What tells a row apart from its neighbours, in words.
std::string row_words(const Record& record, const std::string& subject, const Figure::Point& point) {
  return fmt::format("{}{}{}{}: {}", row_name(record.setting), subject, point.is_hollow ? " (baseline)" : "",
                     point.is_faint ? fmt::format(" (grade {})", name(*record.grade.trust)) : "", point.words);
}

Figure::Series panel_series(const Panel& panel, const QualityMeasure& quality, const ReportSubject& subject,
                            const std::vector<std::string>& precisions, const std::string& of_subject) {
  Figure::Series series{.name = subject.name};
  for (std::size_t row = 0; row < precisions.size(); ++row) {
    const Record* record = subject.find(precisions[row]);
    if (record == nullptr) continue;
    const auto figure = panel.point == nullptr ? quality.point(*record) : panel.point(*record);
    Figure::Point point = shown_point(panel, figure, *record, static_cast<double>(row));
    if (panel.point == nullptr) mark_part(*record, point);
    point.is_hollow = is_baseline(record->setting);
    point.is_faint = is_of_low_grade(*record);
    point.words = row_words(*record, of_subject, point);
    series.points.push_back(std::move(point));
  }
  return series;
}

Figure panel_figure(const Panel& panel, std::span<const ReportSubject> group, const QualityMeasure& quality) {
  const Records records = records_of(group);
  const bool of_quality = panel.point == nullptr;
  Figure figure{.kind = of_quality ? FigureKind::dots : FigureKind::bars,
                .key = panel.key,
                .caption = panel.caption,
                .legend = fmt::format("{}; paler, with a border: the baseline", panel.legend),
                .reason = missing_reasons(panel, records),
                .x = {.title = of_quality ? quality.title : panel.title, .unit = with_rates(panel.unit, records)},
                .y = {.categories = shown_precisions(group)}};
  for (const ReportSubject& subject : group)
    figure.series.push_back(
        panel_series(panel, quality, subject, figure.y.categories, group.size() > 1 ? " of " + subject.name : ""));
  if (std::any_of(records.begin(), records.end(), [](const Record* record) { return is_of_low_grade(*record); }))
    figure.legend += "; nearly empty, with a broken border: grade C or D";
  if (of_quality) figure.x.scale = quality.scale;
  return figure;
}

/// A chart for each measure of quality that these subjects have, each of the subjects that have it.
std::vector<Figure> quality_figures(const Panel& panel, std::span<const ReportSubject> group) {
  const std::vector<const QualityMeasure*> measures = quality_measures(records_of(group));
  if (measures.size() == 1) return {panel_figure(panel, group, *measures.front())};
  std::vector<Figure> figures;
  for (const QualityMeasure* measure : measures) {
    std::vector<ReportSubject> measured(group.begin(), group.end());
    std::erase_if(measured, [&](const ReportSubject& subject) {
      return std::none_of(subject.records.begin(), subject.records.end(),
                          [&](const Record* record) { return measure->point(*record).has_value(); });
    });
    Figure& figure = figures.emplace_back(panel_figure(panel, measured, *measure));
    figure.key += fmt::format("_{}", measure->name);
    figure.caption += fmt::format(": {}", measure->name);
  }
  return figures;
}

}  // namespace

std::vector<Figure> panel_figures(std::span<const ReportSubject> group) {
  std::vector<Figure> figures;
  figures.reserve(std::size(panels) + 2);
  for (const Panel& panel : panels) {
    if (panel.point == nullptr) {
      for (Figure& figure : quality_figures(panel, group)) figures.push_back(std::move(figure));
      continue;
    }
    Figure& figure = figures.emplace_back(panel_figure(panel, group, quality_measure({})));
    const double rows = static_cast<double>(figure.y.categories.size());
    if (figure.key == "speedup") figure.references = {{.points = {{.x = 1, .y = -0.5}, {.x = 1, .y = rows - 0.5}}}};
  }
  return figures;
}

}  // namespace assay
