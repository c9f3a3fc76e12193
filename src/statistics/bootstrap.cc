#include "statistics/bootstrap.h"

namespace assay {

std::vector<std::size_t> draw(std::size_t count, Random& random) {
  std::vector<std::size_t> drawn(count);
  for (std::size_t& one : drawn) one = random.below(count);
  return drawn;
}

double median_of_drawn(std::span<const double> values, std::span<const std::size_t> drawn) {
  std::vector<double> picked(drawn.size());
  for (std::size_t i = 0; i < drawn.size(); ++i) picked[i] = values[drawn[i]];
  const auto middle = picked.begin() + static_cast<std::ptrdiff_t>(picked.size() / 2);
  std::nth_element(picked.begin(), middle, picked.end());
  if (picked.size() % 2 == 1) return *middle;
  const double below = *std::max_element(picked.begin(), middle);
  return below + (*middle - below) / 2;
}

}  // namespace assay
