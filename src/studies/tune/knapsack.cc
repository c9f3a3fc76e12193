#include "studies/tune/knapsack.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace assay {
namespace {

constexpr double unreachable = std::numeric_limits<double>::infinity();

/// Rounded up: what is chosen by steps then fits.
std::size_t steps_for(double loss, double most_loss) {
  if (loss <= 0) return 0;
  const double steps = std::ceil(loss / most_loss * static_cast<double>(knapsack_steps));
  return steps > static_cast<double>(knapsack_steps) ? knapsack_steps + 1 : static_cast<std::size_t>(steps);
}

/// Least cost of the parts so far that takes exactly so many steps, and which option of the last part that has.
struct Stage {
  std::vector<double> costs;
  std::vector<std::uint8_t> taken;
};

Stage with_part(const std::vector<double>& before, const std::vector<PartOption>& options, double most_loss) {
  Stage stage{std::vector<double>(before.size(), unreachable), std::vector<std::uint8_t>(before.size())};
  for (std::size_t o = 0; o < options.size(); ++o) {
    const std::size_t steps = steps_for(options[o].loss, most_loss);
    for (std::size_t at = steps; at < before.size(); ++at) {
      const double cost = before[at - steps] + options[o].cost;
      if (cost >= stage.costs[at]) continue;
      stage.costs[at] = cost;
      stage.taken[at] = static_cast<std::uint8_t>(o);
    }
  }
  return stage;
}

}  // namespace

std::optional<std::vector<std::size_t>> cheapest_within(std::span<const std::vector<PartOption>> parts,
                                                        double most_loss) {
  std::vector<Stage> stages;
  stages.reserve(parts.size());
  std::vector<double> costs(knapsack_steps + 1, unreachable);
  costs[0] = 0;
  for (const std::vector<PartOption>& options : parts) {
    stages.push_back(with_part(costs, options, most_loss));
    costs = stages.back().costs;
  }
  const auto best = std::min_element(costs.begin(), costs.end());
  if (*best == unreachable) return std::nullopt;
  auto at = static_cast<std::size_t>(best - costs.begin());
  std::vector<std::size_t> chosen(parts.size());
  for (std::size_t p = parts.size(); p-- > 0;) {
    chosen[p] = stages[p].taken[at];
    at -= steps_for(parts[p][chosen[p]].loss, most_loss);
  }
  return chosen;
}

}  // namespace assay
