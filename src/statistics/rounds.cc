#include "statistics/rounds.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/error.h"
#include "statistics/two_samples.h"

namespace assay {
namespace {

/// Pairs i <= j of ascending values whose mean is at most `bound`.
std::uint64_t averages_up_to(std::span<const double> ascending, double bound) {
  std::uint64_t count = 0;
  std::size_t partners = ascending.size();
  for (std::size_t i = 0; i < ascending.size(); ++i) {
    while (partners > i && (ascending[i] + ascending[partners - 1]) / 2 > bound) --partners;
    if (partners <= i) break;
    count += partners - i;
  }
  return count;
}

/// The k-th smallest Walsh average, k from 1, by bisection: there are too many of them to be listed.
double walsh_average(std::span<const double> ascending, std::uint64_t k) {
  double below = ascending.front();
  double found = ascending.back();
  if (averages_up_to(ascending, below) >= k) return below;
  for (int i = 0; i < 100; ++i) {
    const double middle = below + (found - below) / 2;
    (averages_up_to(ascending, middle) >= k ? found : below) = middle;
  }
  return found;
}

}  // namespace

Ratio ratio_of_rounds(std::span<const double> a, std::span<const double> b, double confidence) {
  std::vector<double> logs(std::min(a.size(), b.size()));
  ASSAY_ASSERT(!logs.empty());
  for (std::size_t i = 0; i < logs.size(); ++i) logs[i] = std::log(b[i] / a[i]);
  std::sort(logs.begin(), logs.end());
  const std::uint64_t averages = std::uint64_t{logs.size()} * (logs.size() + 1) / 2;
  const auto ratio_at = [&](std::uint64_t k) { return std::exp(walsh_average(logs, k)); };
  const double middle = (walsh_average(logs, (averages + 1) / 2) + walsh_average(logs, (averages + 2) / 2)) / 2;
  Ratio ratio{std::exp(middle), std::nullopt};
  const std::uint64_t k = signed_rank_order(logs.size(), 1 - confidence);
  if (k > 0) ratio.interval = Interval{ratio_at(k), ratio_at(averages + 1 - k)};
  return ratio;
}

}  // namespace assay
