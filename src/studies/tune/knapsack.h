#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace assay {

/// One way to run a part: what it costs and what of the limit it takes. Neither is negative.
struct PartOption {
  double cost = 0;
  double loss = 0;
};

/// The multiple-choice knapsack (Sinha & Zoltners 1979): one option for each part, so that the losses together are at
/// most `most_loss` and the costs together least. By dynamic programming over losses in `knapsack_steps` equal steps,
/// each loss rounded up, so that what is chosen never exceeds the limit; the choice is exact for the rounded losses,
/// hence at least as cheap as the best one at most_loss * (1 - parts / knapsack_steps). Indices into each part's
/// options; absent where no choice fits.
std::optional<std::vector<std::size_t>> cheapest_within(std::span<const std::vector<PartOption>> parts,
                                                        double most_loss);

inline constexpr std::size_t knapsack_steps = 20000;

}  // namespace assay
