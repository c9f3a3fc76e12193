#include "statistics/outliers.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "statistics/student.h"

namespace assay {
namespace {

Welford spread_of(std::span<const double> values, const std::vector<std::size_t>& which) {
  Welford spread;
  for (const std::size_t one : which) spread.add(values[one]);
  return spread;
}

/// What the largest of n studentised deviates is below with probability 1 - level (Rosner 1983, eq. 2.5).
double critical_deviate(std::size_t n, double level) {
  const auto count = static_cast<double>(n);
  const double t = student_bound(level / count, count - 2);
  return (count - 1) * t / std::sqrt((count - 2 + t * t) * count);
}

/// Those that stand apart by Rosner's test. Where several may, its levels hold for large samples alone: half of it.
std::vector<std::size_t> extremes(std::span<const double> values, double whole_level) {
  std::vector<std::size_t> left(values.size());
  std::iota(left.begin(), left.end(), std::size_t{0});
  std::vector<std::size_t> taken;
  std::size_t apart = 0;
  const std::size_t most = (values.size() - 1) / 2;
  const double level = most > 1 ? whole_level / 2 : whole_level;
  while (taken.size() < most && left.size() >= 3) {
    const Welford spread = spread_of(values, left);
    if (spread.standard_deviation() <= 0) break;
    const auto off = [&](std::size_t one) { return std::abs(values[one] - spread.mean()); };
    const auto farthest =
        std::max_element(left.begin(), left.end(), [&](std::size_t a, std::size_t b) { return off(a) < off(b); });
    const bool is_apart = off(*farthest) / spread.standard_deviation() > critical_deviate(left.size(), level);
    taken.push_back(*farthest);
    left.erase(farthest);
    if (is_apart) apart = taken.size();
  }
  taken.resize(apart);
  return taken;
}

/// The numbers below `count` without `one` and those of `apart`.
std::vector<std::size_t> all_but(std::size_t one, const std::vector<std::size_t>& apart, std::size_t count) {
  std::vector<std::size_t> others;
  for (std::size_t other = 0; other < count; ++other) {
    const bool counts = other != one && std::find(apart.begin(), apart.end(), other) == apart.end();
    if (counts) others.push_back(other);
  }
  return others;
}

/// Beside the others that do not stand apart, of which there are two or more.
Deviation beside(std::span<const double> values, std::size_t one, const std::vector<std::size_t>& others,
                 double level) {
  const Welford spread = spread_of(values, others);
  const auto all = static_cast<double>(values.size());
  const auto count = static_cast<double>(others.size());
  const double error = spread.standard_deviation() * std::sqrt(1 + 1 / count);
  const double half = student_bound(level / all, count - 1) * error;
  Deviation deviation{.value = values[one] - spread.mean()};
  deviation.interval = {deviation.value - half, deviation.value + half};
  if (error > 0) deviation.p = std::min(1.0, all * student_tail(std::abs(deviation.value) / error, count - 1));
  return deviation;
}

}  // namespace

std::vector<Deviation> deviations(std::span<const double> values, double level) {
  if (values.size() < 3) return {};
  const std::vector<std::size_t> apart = extremes(values, level);
  std::vector<Deviation> all;
  all.reserve(values.size());
  for (std::size_t one = 0; one < values.size(); ++one) {
    std::vector<std::size_t> others = all_but(one, apart, values.size());
    if (others.size() < 2) others = all_but(one, {}, values.size());  // Of three, one of which stands apart.
    Deviation deviation = beside(values, one, others, level);
    const bool is_extreme = std::find(apart.begin(), apart.end(), one) != apart.end();
    deviation.stands_apart = is_extreme && (deviation.interval.low > 0 || deviation.interval.high < 0);
    all.push_back(deviation);
  }
  return all;
}

}  // namespace assay
