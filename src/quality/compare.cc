#include "quality/compare.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"

namespace assay {
namespace {

double mean(std::span<const double> values) {
  return values.empty() ? 0 : std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// Smallest value that at least `share` of all values do not pass.
double nearest_rank(std::vector<float> values, double share) {
  if (values.empty()) return 0;
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(values.size())));
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(std::clamp<std::size_t>(rank, 1, values.size()) - 1);
  std::nth_element(values.begin(), at, values.end());
  return static_cast<double>(*at);
}

double log_choose(std::int64_t n, std::int64_t k) {
  return std::lgamma(static_cast<double>(n + 1)) - std::lgamma(static_cast<double>(k + 1)) -
         std::lgamma(static_cast<double>(n - k + 1));
}

}  // namespace

QualityFigures figures(const Quality& quality) {
  QualityFigures f;
  f.scored = static_cast<std::int64_t>(quality.nll.size());
  f.mean_nll = mean(quality.nll);
  f.perplexity = std::exp(f.mean_nll);
  f.correct = std::count(quality.correct.begin(), quality.correct.end(), 1);
  f.accuracy = f.scored == 0 ? 0 : static_cast<double>(f.correct) / static_cast<double>(f.scored);
  return f;
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

QualityChange compare(const Quality& baseline, const Quality& mine) {
  ASSAY_ASSERT(baseline.nll.size() == mine.nll.size());
  QualityChange c;
  const auto n = static_cast<double>(mine.nll.size());
  std::vector<double> differences(mine.nll.size());
  std::int64_t better = 0;
  std::int64_t worse = 0;
  for (std::size_t i = 0; i < mine.nll.size(); ++i) {
    differences[i] = mine.nll[i] - baseline.nll[i];
    better += mine.correct[i] > baseline.correct[i] ? 1 : 0;
    worse += mine.correct[i] < baseline.correct[i] ? 1 : 0;
  }
  c.delta_nll = mean(differences);
  double squares = 0;
  for (const double d : differences) squares += (d - c.delta_nll) * (d - c.delta_nll);
  if (n > 1) c.delta_nll_se = std::sqrt(squares / (n - 1) / n);
  if (n > 0) c.accuracy_change = static_cast<double>(better - worse) / n;
  c.mcnemar_p = mcnemar_exact(better, worse);
  const auto rows = static_cast<double>(mine.kl.size());
  if (rows > 0) {
    c.kl_mean = std::accumulate(mine.kl.begin(), mine.kl.end(), 0.0) / rows;
    c.top1_agreement = static_cast<double>(mine.agreeing) / rows;
  }
  c.kl_p999 = nearest_rank(mine.kl, 0.999);
  if (mine.largest_logit > 0) c.largest_difference = mine.largest_difference / mine.largest_logit;
  return c;
}

}  // namespace assay
