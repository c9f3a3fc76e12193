#include "quality/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "base/error.h"
#include "quality/averages.h"
#include "statistics/statistics.h"

namespace assay {
namespace {

/// Smallest value that at least `share` of all values do not pass.
double nearest_rank(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(values.size())));
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(std::clamp<std::size_t>(rank, 1, values.size()) - 1);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

double log_choose(std::int64_t n, std::int64_t k) {
  return std::lgamma(static_cast<double>(n + 1)) - std::lgamma(static_cast<double>(k + 1)) -
         std::lgamma(static_cast<double>(n - k + 1));
}

void compare_losses(const QualityRows& baseline, const QualityRows& mine, QualityChange& c) {
  if (mine.nll.empty()) return;
  std::vector<double> differences(mine.nll.size());
  std::transform(mine.nll.begin(), mine.nll.end(), baseline.nll.begin(), differences.begin(), std::minus<>());
  const WindowMean mean = mean_over_windows(differences, mine.windows);
  c.delta_nll = mean.value;
  c.delta_nll_se = mean.standard_error;
  c.delta_nll_interval = mean.interval;
}

void compare_answers(const QualityRows& baseline, const QualityRows& mine, QualityChange& c) {
  if (mine.correct.empty()) return;
  std::int64_t better = 0;
  std::int64_t worse = 0;
  for (std::size_t i = 0; i < mine.correct.size(); ++i) {
    better += mine.correct[i] > baseline.correct[i] ? 1 : 0;
    worse += mine.correct[i] < baseline.correct[i] ? 1 : 0;
  }
  c.accuracy_change = static_cast<double>(better - worse) / static_cast<double>(mine.correct.size());
  c.mcnemar_p = mcnemar_exact(better, worse);
  const double n = static_cast<double>(mine.correct.size()) + 2;
  const auto difference = static_cast<double>(better - worse);
  const auto changed = static_cast<double>(better + worse) + 1;
  const double half_width = 1.959963984540054 * std::sqrt(changed - difference * difference / n) / n;
  c.accuracy_interval = {difference / n - half_width, difference / n + half_width};
}

bool is_constant(std::span<const double> values) {
  return std::all_of(values.begin(), values.end(), [&](double value) { return value == values.front(); });
}

std::vector<double> scores_of(const QualityRows& quality, std::int64_t output) {
  std::vector<double> scores;
  for (std::size_t i = static_cast<std::size_t>(output); i < quality.scores.size();
       i += static_cast<std::size_t>(quality.outputs))
    scores.push_back(quality.scores[i]);
  return scores;
}

ScoreChange without_correlation(ScoreChange change, const std::string& whose) {
  change.pearson.reset();
  change.spearman.reset();
  change.undefined = change.rows < 2 ? "one row has no correlation"
                                     : fmt::format("{} scores are all equal, and have no correlation", whose);
  return change;
}

/// The 999th of 1,000 values is the first that may be called a 99.9th percentile.
constexpr std::size_t fewest_for_p999 = 1000;

}  // namespace

WindowMean mean_over_windows(std::span<const double> rows, std::span<const std::int32_t> windows) {
  WindowMean mean;
  if (rows.empty()) return mean;
  const auto n = static_cast<double>(rows.size());
  std::vector<double> sums;
  sums.reserve(windows.size());
  std::size_t next = 0;
  for (const std::int32_t count : windows) {
    double sum = 0;
    for (std::int32_t i = 0; i < count; ++i, ++next) sum += rows[next];
    sums.push_back(sum);
  }
  ASSAY_ASSERT(next <= rows.size());
  mean.value = std::accumulate(sums.begin(), sums.end(), 0.0) / n;
  const auto clusters = static_cast<double>(sums.size());
  if (clusters < fewest_windows) return mean;
  double squares = 0;
  for (std::size_t w = 0; w < sums.size(); ++w) squares += std::pow(sums[w] - mean.value * windows[w], 2);
  mean.standard_error = std::sqrt(squares * clusters / (clusters - 1)) / n;
  const double half_width = t_quantile(clusters - 1) * *mean.standard_error;
  mean.interval = {mean.value - half_width, mean.value + half_width};
  return mean;
}

QualityFigures figures(const QualityRows& quality) {
  QualityFigures f;
  f.scored = static_cast<std::int64_t>(quality.nll.size());
  f.windows = static_cast<std::int64_t>(quality.windows.size());
  f.mean_nll = mean(quality.nll);
  f.perplexity = std::exp(f.mean_nll);
  f.correct = std::count(quality.correct.begin(), quality.correct.end(), 1);
  f.accuracy = f.scored == 0 ? 0 : static_cast<double>(f.correct) / static_cast<double>(f.scored);
  return f;
}

std::optional<double> pearson(std::span<const double> x, std::span<const double> y) {
  ASSAY_ASSERT(x.size() == y.size());
  if (x.size() < 2 || is_constant(x) || is_constant(y)) return std::nullopt;
  const double x_mean = mean(x);
  const double y_mean = mean(y);
  double xx = 0;
  double yy = 0;
  double xy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - x_mean) * (x[i] - x_mean);
    yy += (y[i] - y_mean) * (y[i] - y_mean);
    xy += (x[i] - x_mean) * (y[i] - y_mean);
  }
  if (xx == 0 || yy == 0) return std::nullopt;
  return std::clamp(xy / std::sqrt(xx * yy), -1.0, 1.0);
}

std::vector<double> ranks(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> result(values.size());
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin + 1;
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    for (std::size_t i = begin; i < end; ++i) result[order[i]] = static_cast<double>(begin + 1 + end) / 2;
    begin = end;
  }
  return result;
}

ScoreChange compare_scores(const QualityRows& baseline, const QualityRows& mine) {
  ASSAY_ASSERT(baseline.scores.size() == mine.scores.size() && baseline.outputs == mine.outputs && mine.outputs > 0);
  ScoreChange change;
  change.rows = static_cast<std::int64_t>(mine.scores.size()) / mine.outputs;
  for (std::size_t i = 0; i < mine.scores.size(); ++i) {
    const double difference = static_cast<double>(mine.scores[i]) - baseline.scores[i];
    change.largest_difference = std::max(change.largest_difference, std::abs(difference));
  }
  for (std::int64_t output = 0; output < mine.outputs; ++output) {
    const std::vector<double> x = scores_of(baseline, output);
    const std::vector<double> y = scores_of(mine, output);
    const auto linear = pearson(x, y);
    const auto monotone = pearson(ranks(x), ranks(y));
    if (!linear || !monotone) return without_correlation(change, is_constant(x) ? "the baseline's" : "its");
    change.pearson = std::min(change.pearson.value_or(1), *linear);
    change.spearman = std::min(change.spearman.value_or(1), *monotone);
  }
  return change;
}

double mcnemar_exact(std::int64_t better, std::int64_t worse) {
  const std::int64_t n = better + worse;
  if (n == 0) return 1;
  double tail = 0;
  for (std::int64_t k = 0; k <= std::min(better, worse); ++k) {
    tail += std::exp(log_choose(n, k) - static_cast<double>(n) * std::log(2.0));
  }
  return std::min(1.0, 2 * tail);
}

QualityChange compare(const QualityRows& baseline, const QualityRows& mine) {
  ASSAY_ASSERT(baseline.nll.size() == mine.nll.size() && baseline.windows == mine.windows);
  QualityChange c;
  compare_losses(baseline, mine, c);
  compare_answers(baseline, mine, c);
  const auto rows = static_cast<double>(mine.kl.size());
  if (rows > 0) {
    c.kl_mean = std::accumulate(mine.kl.begin(), mine.kl.end(), 0.0) / rows;
    c.top1_agreement =
        static_cast<double>(std::accumulate(mine.agrees.begin(), mine.agrees.end(), std::int64_t{0})) / rows;
  }
  if (mine.kl.size() >= fewest_for_p999) c.kl_p999 = nearest_rank(mine.kl, 0.999);
  if (mine.largest_logit > 0) c.largest_difference = mine.largest_difference / mine.largest_logit;
  return c;
}

}  // namespace assay
