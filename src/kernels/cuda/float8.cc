#include "kernels/cuda/float8.h"

#include "kernels/cuda/cuda.h"

// round_float8: see program/operations/float8.cc. Four launches for a scale a tensor: the largest magnitude of each
// row, that of all and the scale, rounding with what each row saw, the history. Two for scales of tiles.
namespace assay::ASSAY_CUDA_NAMESPACE {
namespace {

/// What is seen of one tile, or of one row where the whole tensor shares a scale.
struct Seen {
  float largest = 0;
  float saturated = 0;  ///< How many: exact, since no tile has 2^24 values.
  float flushed = 0;
};

ON_DEVICE inline float largest_finite(const Pack& pack) {
  float largest = 0;
  for (const float value : pack.value) {
    if (is_finite(value)) largest = fmaxf(largest, fabsf(value));
  }
  return largest;
}

struct LargestOfRow {
  Float8Matrix m;
  float* largest;  ///< (rows)

  ON_DEVICE void operator()(std::int64_t row, const Team& team) const {
    float mine = 0;
    for (std::int64_t first = team.rank * pack_width; first < m.width; first += team.size * pack_width)
      mine = fmaxf(mine, largest_finite(m.x.pack(row, first, m.width)));
    mine = team.max(mine);
    if (team.rank == 0) largest[row] = mine;
  }
};

/// The largest of all rows by one team.
ON_DEVICE inline float largest_of(const float* rows, std::int64_t count, const Team& team) {
  float mine = 0;
  for (std::int64_t row = team.rank; row < count; row += team.size) mine = fmaxf(mine, rows[row]);
  return team.max(mine);
}

/// Where the steps before saw anything, theirs decides.
struct ScaleOfTensor {
  const float* largest;  ///< (rows)
  std::int64_t rows;
  const float* history;
  DType format;
  float* scale;

  ON_DEVICE void operator()(std::int64_t, const Team& team) const {
    float most = largest_of(largest, rows, team);
    if (team.rank != 0) return;
    float past = 0;
    for (std::int64_t i = float8_before; history != nullptr && i < float8_history_size; ++i)
      past = fmaxf(past, history[i]);
    if (past > 0) most = past;
    *scale = power_of_two_scale(format, most);
  }
};

struct RoundTile {
  Float8Matrix m;
  Out y;
  std::int64_t tile_rows, tile_width;
  float limit;
  const float* scale;  ///< Of the tensor; null: each tile has its own.
  Seen* seen;          ///< A tile.

  ON_DEVICE std::int64_t across() const { return (m.width + tile_width - 1) / tile_width; }

  ON_DEVICE void operator()(std::int64_t tile, const Team& team) const {
    const std::int64_t begin = tile % across() * tile_width;
    const std::int64_t end = begin + tile_width < m.width ? begin + tile_width : m.width;
    const std::int64_t first_row = tile / across() * tile_rows;
    const std::int64_t rows = m.rows - first_row < tile_rows ? m.rows - first_row : tile_rows;
    const std::int64_t packs_a_row = (end - begin + pack_width - 1) / pack_width;
    Seen mine;
    for (std::int64_t i = team.rank; i < rows * packs_a_row; i += team.size) {
      const std::int64_t first = begin + i % packs_a_row * pack_width;
      mine.largest = fmaxf(mine.largest, largest_finite(m.x.pack(first_row + i / packs_a_row, first, end)));
    }
    mine.largest = team.max(mine.largest);
    const float by = scale != nullptr ? *scale : power_of_two_scale(m.format, mine.largest);
    for (std::int64_t i = team.rank; i < rows * packs_a_row; i += team.size) {
      const std::int64_t row = first_row + i / packs_a_row;
      const std::int64_t first = begin + i % packs_a_row * pack_width;
      Pack pack = m.x.pack(row, first, end);
      for (float& value : pack.value) value = rounded_by(by, value, mine);
      y.set_pack(row, first, end, pack);
    }
    mine.saturated = team.sum(mine.saturated);
    mine.flushed = team.sum(mine.flushed);
    if (team.rank == 0) seen[tile] = mine;
  }

  ON_DEVICE float rounded_by(float by, float value, Seen& mine) const {
    if (!is_finite(value)) return std::bit_cast<float>(0x7FC00000U);
    const float scaled = value * by;
    const float within = scaled > limit ? limit : scaled < -limit ? -limit : scaled;
    const float result = from_8bit(m.format, to_8bit(m.format, within)) / by;
    if (within != scaled) mine.saturated += 1;
    if (value != 0 && result == 0) mine.flushed += 1;
    return result;
  }
};

/// One team: a run's account added to the history.
struct KeepHistory {
  const Seen* seen;
  std::int64_t tiles;
  std::int64_t count;  ///< Values.
  const float* before;
  float* history;

  ON_DEVICE void operator()(std::int64_t, const Team& team) const {
    Seen all;
    for (std::int64_t tile = team.rank; tile < tiles; tile += team.size) {
      all.largest = fmaxf(all.largest, seen[tile].largest);
      all.saturated += seen[tile].saturated;
      all.flushed += seen[tile].flushed;
    }
    all.largest = team.max(all.largest);
    all.saturated = team.sum(all.saturated);
    all.flushed = team.sum(all.flushed);
    if (team.rank != 0) return;
    for (std::int64_t i = float8_before; i < float8_history_size; ++i) history[i] = before[i];
    history[float8_largest] = fmaxf(before[float8_largest], all.largest);
    history[float8_saturated] = count == 0 ? 0 : all.saturated / static_cast<float>(count);
    history[float8_flushed] = count == 0 ? 0 : all.flushed / static_cast<float>(count);
  }
};

struct InverseScale {
  const float* largest;
  std::int64_t rows;
  DType format;
  float* inverse;

  ON_DEVICE void operator()(std::int64_t, const Team& team) const {
    const float most = largest_of(largest, rows, team);
    if (team.rank == 0) *inverse = 1 / power_of_two_scale(format, most);
  }
};

/// Eight bytes of one stretch: columns of a row, or rows of a column.
struct WriteBytes {
  Float8Bytes work;

  ON_DEVICE void operator()(std::int64_t i) const {
    const bool by_rows = work.order == Float8Bytes::Order::rows;
    const std::int64_t stretches = by_rows ? work.from.rows : work.from.width;
    const std::int64_t length = by_rows ? work.from.width : work.from.rows;
    const std::int64_t packs_each = work.stride / pack_width;
    // Neighbouring threads read neighbours: of a row its packs, of columns each its own.
    const std::int64_t stretch = by_rows ? i / packs_each : i % stretches;
    const std::int64_t first = (by_rows ? i % packs_each : i / stretches) * pack_width;
    const float scale = 1 / *work.inverse;
    for (std::int64_t k = first; k < first + pack_width; ++k) {
      const float value = k >= length ? 0 : by_rows ? work.from.x(stretch, k) : work.from.x(k, stretch);
      work.to[stretch * work.stride + k] = static_cast<std::byte>(to_8bit(work.from.format, value * scale));
    }
  }
};

constexpr std::int64_t one_team = 256;

/// Tiles and where the workspace has what is said of them, behind the scale and the rows' largest magnitudes.
struct Tiles {
  std::int64_t rows = 1;
  std::int64_t width = 1;
  std::int64_t count = 0;
  bool by_tensor = false;
  std::size_t seen_at = 0;

  explicit Tiles(const Call& call) : by_tensor(call.attributes.width == 0) {
    const Argument& x = call.in(0);
    rows = by_tensor ? 1 : call.attributes.rows;
    width = by_tensor ? (x.width() > 0 ? x.width() : 1) : call.attributes.width;
    count = (x.rows() + rows - 1) / rows * ((x.width() + width - 1) / width);
    seen_at = by_tensor ? static_cast<std::size_t>(x.rows() + 1) * sizeof(float) : 0;
  }
  std::size_t workspace_bytes() const { return seen_at + static_cast<std::size_t>(count) * sizeof(Seen); }
};

void find_scale(const Float8Matrix& m, const float* history, float* scale) {
  for_rows(m.rows, packs(m.width), LargestOfRow{m, scale + 1});
  for_rows(1, one_team, ScaleOfTensor{scale + 1, m.rows, history, m.format, scale});
}

}  // namespace

void write_float8(const Float8Bytes& work) {
  const Float8Matrix& m = work.from;
  const std::int64_t stretches = work.order == Float8Bytes::Order::rows ? m.rows : m.width;
  for_rows(m.rows, packs(m.width), LargestOfRow{m, work.inverse + 1});
  for_rows(1, one_team, InverseScale{work.inverse + 1, m.rows, m.format, work.inverse});
  for_elements(stretches * (work.stride / pack_width), WriteBytes{work});
}

Offer prepare_round_float8(const Call& call, const MachineFacts& facts) {
  const Tiles tiles(call);
  const Argument& x = call.in(0);
  const DType format = call.attributes.operand;
  const auto run = [call, tiles, format, rows = x.rows(), width = x.width()](const Memory& memory) {
    const Float8Matrix m{input(call, memory, 0), rows, width, format};
    auto* scale = tiles.by_tensor ? reinterpret_cast<float*>(memory.workspace) : nullptr;
    auto* seen = reinterpret_cast<Seen*>(memory.workspace + tiles.seen_at);
    if (scale != nullptr) find_scale(m, memory.in<float>(1), scale);
    const std::int64_t packs_a_tile = tiles.rows * packs(tiles.width);
    for_rows(tiles.count, packs_a_tile,
             RoundTile{m, output(call, memory, 0), tiles.rows, tiles.width, float8_limit(format), scale, seen});
    if (float* history = memory.out<float>(1))
      for_rows(1, one_team, KeepHistory{seen, tiles.count, rows * width, memory.in<float>(1), history});
  };
  Prepared prepared =
      emulating_float8(call, offer("a team a row or tile, counted in parts", run, tiles.workspace_bytes()));
  const bool has_products = facts.gpu && gpu_products(DType::e4m3, facts.gpu->capability).instruction != nullptr;
  if (!has_products || !tiles.by_tensor) return prepared;
  prepared.verdict = Verdict::native;
  prepared.evidence = "rounds in f32; whether 8 bits are multiplied stands with the products";
  return prepared;
}

}  // namespace assay::ASSAY_CUDA_NAMESPACE
