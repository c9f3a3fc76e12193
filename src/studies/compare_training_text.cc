#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "base/units.h"
#include "studies/compare_training.h"

namespace assay {
namespace {

/// The curve in `width` blocks of eight heights between two losses; "^" is above, "x" not finite.
std::string sparkline(const std::vector<double>& values, double low, double high, std::size_t width) {
  constexpr const char* heights[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  constexpr double slack = 0.05;  // Rounding alone puts the first loss a little above another's.
  std::string line;
  const std::size_t cells = std::min(width, values.size());
  for (std::size_t cell = 0; cell < cells; ++cell) {
    const double value = values[cell * values.size() / cells];
    if (!std::isfinite(value)) {
      line += "x";
      continue;
    }
    if (value > high + slack * (high - low)) {
      line += "^";
      continue;
    }
    const double share = high > low ? (value - low) / (high - low) : 0;
    line += heights[static_cast<std::size_t>(std::clamp(share * 7.999, 0.0, 7.0))];
  }
  return line;
}

struct Range {
  double low = INFINITY;
  double high = -INFINITY;
};

/// From the lowest loss of all to the highest of the first precision: one that diverges leaves the others readable.
Range range_of(const TrainingComparison& comparison) {
  Range range;
  for (const PrecisionCurves& one : comparison.precisions) {
    for (const TrainingCurve& curve : one.curves) {
      for (const double loss : curve.loss) {
        if (!std::isfinite(loss)) continue;
        range.low = std::min(range.low, loss);
        if (&one == &comparison.precisions.front() || !std::isfinite(range.high))
          range.high = std::max(range.high, loss);
      }
    }
  }
  if (!std::isfinite(range.low)) return {0, 1};  // There is no loss to show.
  return range;
}

std::string row(const PrecisionCurves& one, const Range& range) {
  if (one.curves.empty()) return fmt::format("{:<12}  {}\n", one.precision, one.failure);
  const TrainingCurve& first = one.curves.front();
  const std::string difference =
      one.difference ? fmt::format("{:+.4f}{}", *one.difference,
                                   one.difference_se ? fmt::format(" ± {:.4f}", *one.difference_se) : "")
                     : "-";
  return fmt::format("{:<12}  {:>8}  {:>17}  {:>8}  {:>7}  {:>9}  {:>9}  {}\n", one.precision,
                     one.final_loss ? fmt::format("{:.4f}", *one.final_loss) : "none", difference,
                     one.seconds_to_target ? fmt::format("{:.1f} s", *one.seconds_to_target) : "never", first.skipped,
                     fmt::format("{:.2f} %", 100 * first.lost_share.back()),
                     first.first_nonfinite ? std::to_string(*first.first_nonfinite) : "none",
                     sparkline(first.loss, range.low, range.high, 24));
}

/// The largest that is finite.
double most(const std::vector<double>& values) {
  double largest = -INFINITY;
  for (const double value : values) {
    if (std::isfinite(value)) largest = std::max(largest, value);
  }
  return largest;
}

std::string words(double loss) {
  return std::isfinite(loss) ? fmt::format("{:.3f}", loss) : "not finite";
}

std::string failing_words(const PrecisionCurves& one, const PrecisionCurves& first) {
  for (const TrainingCurve& curve : one.curves) {
    if (curve.diverged)
      return fmt::format("{} fails: in step {} its loss, its gradient or a weight is not finite; it ended there.",
                         one.precision, *curve.first_nonfinite);
  }
  const TrainingCurve& curve = one.curves.front();
  if (curve.first_nonfinite && curve.skipped == 0)
    return fmt::format("{} fails: in step {} its loss or gradient is not finite.", one.precision,
                       *curve.first_nonfinite);
  if (!one.final_loss) return fmt::format("{} fails: losses of its last steps are not finite.", one.precision);
  const std::string other =
      first.final_loss ? fmt::format(", where {}'s goes to {}", first.precision, words(*first.final_loss)) : "";
  return fmt::format("{} fails: its loss goes from {} to {}, {} at most{}.", one.precision, words(curve.loss.front()),
                     words(*one.final_loss), words(most(curve.loss)), other);
}

std::string target_words(const TrainingComparison& comparison) {
  return comparison.target_loss ? fmt::format("{:.3f}", *comparison.target_loss) : "target";
}

std::string training_legend(const TrainingComparison& comparison) {
  return fmt::format(
      "final: mean loss of the last tenth of the steps. less the first: difference to {0} on the same batches, with "
      "its standard error over blocks of five steps. to {1}: time until the mean of ten losses is there. lost now: "
      "parameters whose last update was not zero and rounded to nothing. not finite: first step with an infinite or "
      "NaN loss or gradient. ^: above every loss of {0}. Energy: {2}.",
      comparison.precisions.front().precision, target_words(comparison), comparison.energy_status);
}

OrderedJson numbers(const std::vector<double>& values) {
  OrderedJson list = OrderedJson::array();
  for (const double value : values) list.push_back(std::isfinite(value) ? OrderedJson(value) : OrderedJson(nullptr));
  return list;
}

template <typename T>
OrderedJson maybe(const std::optional<T>& value) {
  return value ? OrderedJson(*value) : OrderedJson(nullptr);
}

/// An empty cell where there is no figure.
std::string cell(double value) {
  return std::isfinite(value) ? fmt::format("{}", value) : "";
}

std::string polyline(const char* colour, const std::string& points) {
  return fmt::format("<polyline fill=\"none\" stroke=\"{}\" stroke-width=\"1.5\" points=\"{}\"/>\n", colour, points);
}

OrderedJson curve_json(const TrainingCurve& curve) {
  return {{"seed", curve.seed},
          {"loss", numbers(curve.loss)},
          {"gradient_norm", numbers(curve.gradient_norm)},
          {"loss_scale", numbers(curve.loss_scale)},
          {"lost_share", numbers(curve.lost_share)},
          {"at_s", numbers(curve.at_s)},
          {"at_j", numbers(curve.at_j)},
          {"skipped", curve.skipped},
          {"diverged", curve.diverged},
          {"first_nonfinite", maybe(curve.first_nonfinite)}};
}

}  // namespace

std::string to_text(const TrainingComparison& comparison) {
  const Range range = range_of(comparison);
  std::string text = fmt::format(
      "{}, {}, {} steps; the same batches in the same order from the same weights\n\n"
      "precision     final     less the first    to {:<7}  skipped  lost now  not finite  loss\n",
      comparison.model, comparison.data, comparison.steps, target_words(comparison));
  for (const PrecisionCurves& one : comparison.precisions) text += row(one, range);
  return text;
}

std::vector<std::string> comparison_notes(const TrainingComparison& comparison) {
  std::vector<std::string> notes;
  constexpr double least_told = 0.01;  // nat
  const std::string& first = comparison.precisions.front().precision;
  for (const PrecisionCurves& one : comparison.precisions) {
    if (one.curves.empty()) continue;
    const TrainingCurve& curve = one.curves.front();
    const bool is_above = one.difference && one.difference_se && *one.difference > 2 * *one.difference_se;
    if (!one.learned) {
      notes.push_back(failing_words(one, comparison.precisions.front()));
    } else if (is_above && curve.lost_share.back() > 0.1 && *one.difference > least_told) {
      notes.push_back(
          fmt::format("{} loses {:.0f} % of its updates to rounding in the last step and ends {:.3f} above {}.",
                      one.precision, 100 * curve.lost_share.back(), *one.difference, first));
    }
  }
  notes.push_back(training_legend(comparison));
  return notes;
}

OrderedJson to_json(const TrainingComparison& comparison) {
  OrderedJson precisions = OrderedJson::array();
  for (const PrecisionCurves& one : comparison.precisions) {
    OrderedJson curves = OrderedJson::array();
    for (const TrainingCurve& curve : one.curves) curves.push_back(curve_json(curve));
    precisions.push_back({{"precision", one.precision},
                          {"failure", one.failure},
                          {"final_loss", maybe(one.final_loss)},
                          {"difference", maybe(one.difference)},
                          {"difference_se", maybe(one.difference_se)},
                          {"seconds_to_target", maybe(one.seconds_to_target)},
                          {"joules_to_target", maybe(one.joules_to_target)},
                          {"curves", curves}});
  }
  return {{"schema", "assay-training-comparison-1"},
          {"model", comparison.model},
          {"data", comparison.data},
          {"steps", comparison.steps},
          {"target_loss", maybe(comparison.target_loss)},
          {"energy_status", comparison.energy_status},
          {"precisions", precisions}};
}

std::string to_csv(const TrainingComparison& comparison) {
  std::string text = "step";
  for (const PrecisionCurves& one : comparison.precisions)
    text += fmt::format(",{0}_loss,{0}_gradient_norm,{0}_loss_scale,{0}_lost_share", one.precision);
  for (std::int64_t step = 0; step < comparison.steps; ++step) {
    text += fmt::format("\r\n{}", step);
    const auto at = static_cast<std::size_t>(step);
    for (const PrecisionCurves& one : comparison.precisions) {
      if (one.curves.empty() || at >= one.curves.front().loss.size()) {
        text += ",,,,";
        continue;
      }
      const TrainingCurve& c = one.curves.front();
      text +=
          fmt::format(",{},{},{},{}", cell(c.loss[at]), cell(c.gradient_norm[at]), c.loss_scale[at], c.lost_share[at]);
    }
  }
  return text + "\r\n";
}

std::string to_svg(const TrainingComparison& comparison) {
  constexpr double width = 720;
  constexpr double height = 360;
  constexpr double margin = 48;
  constexpr const char* colours[] = {"#1b6ca8", "#c0392b", "#2e7d32", "#8e44ad", "#b7791f", "#455a64"};
  const Range range = range_of(comparison);
  const double spread = range.high > range.low ? range.high - range.low : 1;
  const double steps = std::max<double>(static_cast<double>(comparison.steps) - 1, 1);
  std::string body;
  for (std::size_t i = 0; i < comparison.precisions.size(); ++i) {
    const PrecisionCurves& one = comparison.precisions[i];
    const char* colour = colours[i % std::size(colours)];
    std::string points;
    for (std::size_t step = 0; !one.curves.empty() && step < one.curves.front().loss.size(); ++step) {
      const double loss = one.curves.front().loss[step];
      if (!std::isfinite(loss) || loss > range.high) {
        if (!points.empty()) body += polyline(colour, points);
        points.clear();
        continue;
      }
      points += fmt::format("{:.1f},{:.1f} ", margin + static_cast<double>(step) / steps * (width - 2 * margin),
                            margin + (range.high - loss) / spread * (height - 2 * margin));
    }
    body += polyline(colour, points);
    body += fmt::format("<text x=\"{}\" y=\"{}\" fill=\"{}\" text-anchor=\"end\">{}</text>\n", width - margin,
                        margin + 16 * static_cast<double>(i), colour, one.precision);
  }
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" font-family=\"sans-serif\" "
      "font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
      "<text x=\"{2}\" y=\"24\">loss over {3} steps</text>\n<text x=\"4\" y=\"{2}\">{4:.3f}</text>\n"
      "<text x=\"4\" y=\"{5}\">{6:.3f}</text>\n{7}</svg>\n",
      width, height, margin, comparison.steps, range.high, height - margin, range.low, body);
}

}  // namespace assay
