#include "report/html/panel_table.h"

#include <fmt/format.h>

#include <cmath>

#include "report/mode_words.h"
#include "report/phrases.h"
#include "report/text.h"

namespace assay {
namespace {

/// Differences of quality are small beside it; a correlation is 1 only where it is 1.
std::string quality_text(double value) {
  if (value < 1 && value > 0.999) return fmt::format("{:.6f}", std::trunc(value * 1e6) / 1e6);
  return value < 9999.5 ? fmt::format("{:.4g}", value) : fmt::format("{:.3g}", value);
}

std::optional<FigurePoint> latency_point(const Record& r) {
  if (!r.latency->median_ms) return std::nullopt;
  return FigurePoint{*r.latency->median_ms, r.latency->ci_low_ms, r.latency->ci_high_ms};
}

std::optional<FigurePoint> speedup_point(const Record& r) {
  if (!r.speedup->speedup) return std::nullopt;
  return FigurePoint{*r.speedup->speedup, r.speedup->speedup_low, r.speedup->speedup_high};
}

std::optional<FigurePoint> energy_point(const Record& r) {
  if (!r.energy->energy_j) return std::nullopt;
  return FigurePoint{*r.energy->energy_j};
}

std::optional<FigurePoint> throughput_point(const Record& r) {
  if (!r.rates.tokens_per_s) return std::nullopt;
  return FigurePoint{*r.rates.tokens_per_s};
}

/// The interval is that of the change from the baseline, on the same data.
std::optional<FigurePoint> quality_point(const Record& r) {
  if (r.quality->perplexity) {
    FigurePoint point{*r.quality->perplexity};
    if (r.difference->delta_log_perplexity && r.difference->delta_log_perplexity_low &&
        r.difference->delta_log_perplexity_high) {
      point.low = *r.quality->perplexity *
                  std::exp(*r.difference->delta_log_perplexity_low - *r.difference->delta_log_perplexity);
      point.high = *r.quality->perplexity *
                   std::exp(*r.difference->delta_log_perplexity_high - *r.difference->delta_log_perplexity);
    }
    return point;
  }
  if (r.difference->score_pearson) return FigurePoint{*r.difference->score_pearson};
  if (!r.quality->accuracy) return std::nullopt;
  FigurePoint point{100 * *r.quality->accuracy};
  if (r.difference->accuracy_change && r.difference->accuracy_change_low && r.difference->accuracy_change_high) {
    point.low = 100 * (*r.quality->accuracy - *r.difference->accuracy_change + *r.difference->accuracy_change_low);
    point.high = 100 * (*r.quality->accuracy - *r.difference->accuracy_change + *r.difference->accuracy_change_high);
  }
  return point;
}

std::optional<FigurePoint> model_size_point(const Record& r) {
  if (!r.memory->model_bytes) return std::nullopt;
  return FigurePoint{static_cast<double>(*r.memory->model_bytes) / 1e6};
}

std::string no_median(const Record& r) {
  return r.outcome.reason.value_or("not measured");
}

std::string no_speedup(const Record& r) {
  return r.outcome.reason.value_or(fmt::format("{} was not timed beside it", r.setting.baseline));
}

std::string quality_unit(std::span<const ReportSubject> group) {
  for (const ReportSubject& subject : group) {
    for (const Record* record : subject.records) {
      if (record->quality->perplexity) return "perplexity";
      if (record->quality->accuracy) return "accuracy, %";
      if (record->difference->score_pearson) return "Pearson's r with the baseline's scores";
    }
  }
  return "";
}

constexpr FigurePanel panels[] = {
    {"Latency", "ms", "lower is better", "bars: median; whiskers: its 95 % interval", FigureForm::bars, latency_point,
     no_median},
    {"Speed-up", "x", "higher is better",
     "bars: median over rounds against the baseline; whiskers: its 95 % interval; line: the baseline", FigureForm::bars,
     speedup_point, no_speedup, ratio_text, 1.0},
    {"Energy per sample", "J", "lower is better", "bars: gross energy of one sequence, of a program of one run",
     FigureForm::bars, energy_point, [](const Record& r) { return to_text(r.energy->energy_status); }},
    {"Throughput", "{}/s", "higher is better", "bars: mean over all windows", FigureForm::bars, throughput_point,
     no_median},
    {"Quality", "", "", "points; whiskers: 95 % interval of the change from the baseline on the same data",
     FigureForm::points, quality_point, [](const Record& r) { return to_text(r.quality->quality_status); },
     quality_text},
    {"Model size", "MB", "lower is better", "bars: parameters as stored in memory, 10⁶ bytes", FigureForm::bars,
     model_size_point, no_median},
};

}  // namespace

std::span<const FigurePanel> figure_panels() {
  return panels;
}

std::string unit_of(const FigurePanel& panel, std::span<const ReportSubject> group) {
  if (!*panel.unit) return quality_unit(group);
  Records records;
  for (const ReportSubject& subject : group)
    records.insert(records.end(), subject.records.begin(), subject.records.end());
  return with_rates(panel.unit, records);
}

const char* better_of(const FigurePanel& panel, std::span<const ReportSubject> group) {
  if (*panel.better) return panel.better;
  return unit_of(panel, group) == "perplexity" ? "lower is better" : "higher is better";
}

}  // namespace assay
