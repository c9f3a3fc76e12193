#pragma once

#include "kernels/cuda/formulas.h"
#include "kernels/linear.h"

/// Products of few rows of x, as decoding has them: reading the weight takes longer than multiplying by it, so that
/// each team reads a row of it once for all of them, eight neighbours a thread, and decodes it in registers.
namespace assay::ASSAY_CUDA_NAMESPACE {

/// Rows of x that a team keeps sums of. Beyond so many a product with tensor cores is asked first.
constexpr int rows_of_a_team = 8;

/// As many threads as have four packs each: fewer would wait longer for memory, more for one another.
inline std::int64_t team_of(std::int64_t in) {
  return packs(in) / 4;
}

/// What comes behind the sum of a product.
struct Finished {
  In bias;
  Out y;
  Activation activation = Activation::none;

  ON_DEVICE void operator()(std::int64_t row, std::int64_t n, float sum) const {
    if (bias.present()) sum += bias(n);
    y.set(row, n, activate(activation, sum));
  }
};

/// Partial: what a thread adds of the eight columns from `first` on of W's row n to the sums of the team's rows of x.
/// An item is a row of W and up to eight rows of x.
template <typename Partial>
struct RowsTimesWeight {
  Partial partial;
  Finished finished;
  std::int64_t rows, out, in;

  ON_DEVICE void operator()(std::int64_t item, const Team& team) const {
    const std::int64_t n = item % out;
    const std::int64_t first_row = item / out * rows_of_a_team;
    const std::int64_t left = rows - first_row;
    const int mine = static_cast<int>(left < rows_of_a_team ? left : rows_of_a_team);
    float sums[rows_of_a_team] = {};
    for (std::int64_t first = team.rank * pack_width; first < in; first += team.size * pack_width)
      partial.add(n, first, first_row, mine, sums);
    UNROLLED
    for (int r = 0; r < rows_of_a_team; ++r) {
      if (r >= mine) continue;
      const float sum = team.sum(sums[r]);
      if (team.rank == 0) finished(first_row + r, n, sum);
    }
  }
};

template <typename Partial>
void multiply_rows(const LinearCall& linear, const Partial& partial, const Finished& finished) {
  const std::int64_t parts = (linear.rows + rows_of_a_team - 1) / rows_of_a_team;
  for_rows(parts * linear.out, team_of(linear.in),
           RowsTimesWeight<Partial>{partial, finished, linear.rows, linear.out, linear.in});
}

/// Values of x by values of W, in f32. Weight: pack(row, first, width), as In has it.
template <typename Weight>
struct WidenedPartial {
  In x;
  Weight weight;
  std::int64_t in;

  ON_DEVICE void add(std::int64_t n, std::int64_t first, std::int64_t first_row, int rows, float* sums) const {
    const Pack w = weight.pack(n, first, in);
    UNROLLED
    for (int r = 0; r < rows_of_a_team; ++r) {
      if (r >= rows) continue;
      const Pack a = x.pack(first_row + r, first, in);
      UNROLLED
      for (int i = 0; i < pack_width; ++i) sums[r] += a.value[i] * w.value[i];
    }
  }
};

/// s8 weights with a scale a row.
struct ScaledRows {
  In q;
  const float* scale;

  ON_DEVICE Pack pack(std::int64_t row, std::int64_t first, std::int64_t width) const {
    Pack result = q.pack(row, first, width);
    UNROLLED
    for (float& value : result.value) value *= scale[row];
    return result;
  }
};

}  // namespace assay::ASSAY_CUDA_NAMESPACE
