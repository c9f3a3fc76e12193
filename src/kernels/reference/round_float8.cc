#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/float8_scale.h"
#include "kernels/reference/access.h"
#include "kernels/reference/loops.h"

namespace assay::reference {
namespace {

/// Rows and columns that share a scale.
struct Tile {
  std::int64_t row, rows, column, columns;
};

template <typename Use>
void for_each_of(const Tile& tile, Use use) {
  for (std::int64_t row = tile.row; row < tile.row + tile.rows; ++row) {
    for (std::int64_t column = tile.column; column < tile.column + tile.columns; ++column) use(row, column);
  }
}

float largest_finite(const Reader& x, const Tile& tile) {
  double most = 0;
  for_each_of(tile, [&](std::int64_t row, std::int64_t column) {
    const double value = std::abs(x(row, column));
    if (std::isfinite(value)) most = std::max(most, value);
  });
  return static_cast<float>(most);
}

void round_tile(const Call& call, const Memory& memory, const Tile& tile, float scale, Float8Seen& seen) {
  const Reader x = reader(call, memory, 0);
  const Writer y = writer(call, memory, 0);
  const DType dtype = call.attributes.operand;
  const double limit = float8_limit(dtype);
  for_each_of(tile, [&](std::int64_t row, std::int64_t column) {
    const double value = x(row, column);
    if (!std::isfinite(value)) return y.set(row, column, std::numeric_limits<double>::quiet_NaN());
    const double scaled = value * scale;
    const double rounded = round_to(dtype, static_cast<float>(std::clamp(scaled, -limit, limit))) / double{scale};
    y.set(row, column, rounded);
    seen.largest = std::max(seen.largest, static_cast<float>(std::abs(value)));
    seen.saturated += std::abs(scaled) > limit ? 1 : 0;
    seen.flushed += value != 0 && rounded == 0 ? 1 : 0;
  });
}

}  // namespace

void round_float8(const Call& call, const Memory& memory) {
  const Reader x = reader(call, memory, 0);
  const DType dtype = call.attributes.operand;
  const std::int64_t rows = call.in(0).rows();
  const std::int64_t width = call.in(0).width();
  Float8Seen seen;
  float* history = memory.out<float>(1);
  if (history != nullptr && history != memory.in<float>(1))
    std::memcpy(history, memory.in<float>(1), float8_history_size * sizeof(float));
  if (call.attributes.width == 0) {
    const Tile all = {0, rows, 0, width};
    const float past = history == nullptr ? 0 : float8_past(history);
    round_tile(call, memory, all, float8_scale(dtype, past > 0 ? past : largest_finite(x, all)), seen);
  } else {
    for (std::int64_t row = 0; row < rows; row += call.attributes.rows) {
      for (std::int64_t column = 0; column < width; column += call.attributes.width) {
        const Tile tile = {row, std::min(call.attributes.rows, rows - row), column,
                           std::min(call.attributes.width, width - column)};
        round_tile(call, memory, tile, float8_scale(dtype, largest_finite(x, tile)), seen);
      }
    }
  }
  if (history != nullptr) keep_float8(seen, rows * width, history);
}

}  // namespace assay::reference
