#include "tensor/make_line_blocks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

#include "tensor/line_fit.h"

namespace assay {
namespace {

constexpr std::size_t values_of_block = 32;
constexpr CodeRange four_bits{0, 15};
constexpr int refits = 4;

/// Shares of the block's range that searches begin with, one a lane.
constexpr Four started_shares[] = {{1.05F, 1.0F, 0.97F, 0.94F}, {0.91F, 0.88F, 0.84F, 0.8F}};

/// The same block in every lane.
using Block = std::array<Four, values_of_block>;

/// By lane, the best of the lines that its search comes by.
BestLines searched(const Block& x, float low, float high) {
  Four values{};
  for (const Four value : x) values += value;
  BestLines best;
  const Lines mean{Four{}, -values / static_cast<float>(values_of_block)};
  best.consider(mean, error_on(mean, four_bits, x));
  for (const Four shares : started_shares) {
    const Four span = (high - low) * shares;
    Lines line{span / four_bits.high, (span - (high + low)) / 2};
    for (int i = 0; i < refits; ++i) {
      const CodeSums sums = sums_on(line, four_bits, x);
      best.consider(line, sums.error);
      line = rising_or(line, line_through(sums, values, x.size()));
    }
    best.consider(line, error_on(line, four_bits, x));
  }
  return best;
}

std::size_t best_lane(Four error) {
  std::size_t best = 0;
  for (std::size_t lane = 1; lane < lanes; ++lane) {
    if (error[lane] < error[best]) best = lane;
  }
  return best;
}

}  // namespace

void make_q4_1(const float* x, std::byte* block) {
  std::fill_n(block, 20, std::byte{0});
  if (!std::all_of(x, x + values_of_block, [](float value) { return std::isfinite(value); }))
    return put_half(to_f16(std::numeric_limits<float>::quiet_NaN()), 0, block);
  Block values;
  std::transform(x, x + values_of_block, values.begin(), all);
  const auto [low, high] = std::minmax_element(x, x + values_of_block);
  const BestLines best = searched(values, *low, *high);
  const std::size_t lane = best_lane(best.error);
  const f16 scale = half_of(best.lines.scale[lane]);
  const f16 added = half_of(-best.lines.minimum[lane]);
  put_half(scale, 0, block);
  put_half(added, 2, block);
  const Coder coder({all(to_f32(scale)), all(-to_f32(added))}, four_bits);
  for (std::size_t i = 0; i < values_of_block; ++i) {
    const auto code = static_cast<std::uint8_t>(coder.code(values[i])[0]);
    block[4 + i % 16] |= static_cast<std::byte>(code << (i < 16 ? 0 : 4));
  }
}

}  // namespace assay
