#include "statistics/between_runs.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <vector>

namespace assay {
namespace {

/// With fewer Student's t is above 4.
constexpr double fewest_degrees = 3;

/// Of one cell: its measurements' variances, and the runs of the one that has most.
struct CellSpread {
  double squares = 0;
  double degrees = 0;
  double most_degrees = 0;
};

std::optional<RunSpread> pooled_spread(std::span<const RunFigure> figures) {
  std::map<std::string, std::map<std::string, Welford>> cells;
  for (const RunFigure& figure : figures) cells[figure.cell][figure.measurement].add(std::log(figure.value));
  double squares = 0;
  double degrees = 0;
  for (const auto& [cell, measurements] : cells) {
    CellSpread spread;
    for (const auto& [measurement, logs] : measurements) {
      const double own = static_cast<double>(logs.count()) - 1;
      if (own <= 0) continue;
      spread.squares += own * std::pow(logs.standard_deviation(), 2);
      spread.degrees += own;
      spread.most_degrees = std::max(spread.most_degrees, own);
    }
    if (spread.degrees == 0) continue;
    squares += spread.squares / spread.degrees * spread.most_degrees;
    degrees += spread.most_degrees;
  }
  if (degrees < fewest_degrees) return std::nullopt;
  return RunSpread{std::sqrt(squares / degrees), degrees};
}

}  // namespace

std::optional<RunSpread> spread_between_runs(std::span<const RunFigure> figures, const std::string& cell) {
  if (cell.empty()) return pooled_spread(figures);
  std::vector<RunFigure> own;
  std::copy_if(figures.begin(), figures.end(), std::back_inserter(own),
               [&](const RunFigure& figure) { return figure.cell == cell; });
  const std::optional<RunSpread> known = pooled_spread(own);
  return known ? known : pooled_spread(figures);
}

Interval with_spread(const WithinRun& within, const RunSpread& between) {
  const double low = std::log(within.interval.low);
  const double high = std::log(within.interval.high);
  const double own = std::pow((high - low) / 2 / t_quantile(within.degrees), 2);
  const double others = between.deviation * between.deviation;
  const double shares = own * own / within.degrees + others * others / between.degrees;
  const double degrees = shares > 0 ? (own + others) * (own + others) / shares : between.degrees;
  const double half = t_quantile(degrees) * std::sqrt(own + others);
  const double middle = (low + high) / 2;
  return {std::min(std::exp(middle - half), within.interval.low),
          std::max(std::exp(middle + half), within.interval.high)};
}

}  // namespace assay
