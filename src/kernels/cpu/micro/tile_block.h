#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cpu/micro/block.h"

namespace assay::cpu::micro {

/// The operand of LDTILECFG (Intel SDM volume 1, 18.3.1), palette 1: 8 tiles of at most 16 rows of 64 bytes.
struct TileConfiguration {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {};
  std::uint8_t rows[16] = {};
};
static_assert(sizeof(TileConfiguration) == 64);

constexpr int tile_rows = 16;
constexpr std::int64_t tile_bytes = 64;  ///< of a full row
constexpr std::int64_t sum_row_bytes = 2 * tile_bytes;
constexpr std::int64_t panel_group_bytes = 2 * tile_bytes;

/// A 32 x 32 block of sums in four tiles, with two tiles of rows and two of weights: every tile that is loaded is used
/// twice. Tiles 0 to 3: sums, by row pair and panel half; 4 and 5: rows of a; 6 and 7: halves of the panel.
struct TileBlock {
  int upper_rows = tile_rows;
  int lower_rows = tile_rows;  ///< 0: there is no lower half
  int groups = tile_rows;      ///< of K in one step

  friend bool operator==(const TileBlock&, const TileBlock&) = default;
};

inline TileConfiguration configuration(const TileBlock& block) {
  TileConfiguration result;
  const int sums_rows[] = {block.upper_rows, block.upper_rows, block.lower_rows, block.lower_rows};
  for (int tile = 0; tile < 4; ++tile) {
    result.rows[tile] = static_cast<std::uint8_t>(sums_rows[tile]);
    result.row_bytes[tile] = tile_bytes;
  }
  for (int tile = 4; tile < 6; ++tile) {
    result.rows[tile] = static_cast<std::uint8_t>(tile == 4 ? block.upper_rows : block.lower_rows);
    result.row_bytes[tile] = static_cast<std::uint16_t>(block.groups * 4);
  }
  for (int tile = 6; tile < 8; ++tile) {
    result.rows[tile] = static_cast<std::uint8_t>(block.groups);
    result.row_bytes[tile] = tile_bytes;
  }
  // A tile of no rows is no tile: it has to have no bytes either.
  for (int tile = 0; tile < 8; ++tile) {
    if (result.rows[tile] == 0) result.row_bytes[tile] = 0;
  }
  return result;
}

template <int first, typename Tiles>
void start_sums(Tiles& tiles, std::byte* c, Sums sums) {
  if (sums == Sums::start) {
    tiles.template zero<first>();
    tiles.template zero<first + 1>();
    return;
  }
  tiles.template load<first>(c, sum_row_bytes);
  tiles.template load<first + 1>(c + tile_bytes, sum_row_bytes);
}

template <int first, typename Tiles>
void store_sums(Tiles& tiles, std::byte* c) {
  tiles.template store<first>(c, sum_row_bytes);
  tiles.template store<first + 1>(c + tile_bytes, sum_row_bytes);
}

inline void fetch(const std::byte* data, std::int64_t lines) {
  constexpr int second_cache = 2;  // __builtin_prefetch's "moderate locality"
  for (std::int64_t line = 0; line < lines; ++line) __builtin_prefetch(data + line * 64, 0, second_cache);
}

/// `steps` steps of K for at most 32 rows; the tiles are configured.
template <typename Tiles>
void multiply_tiles(Tiles& tiles, const Block& block, const TileBlock& shape, std::int64_t steps) {
  std::byte* const lower_c = block.c + tile_rows * sum_row_bytes;
  const std::byte* const lower_a = block.a + tile_rows * block.a_stride;
  start_sums<0>(tiles, block.c, block.sums);
  if (shape.lower_rows > 0) start_sums<2>(tiles, lower_c, block.sums);
  const std::int64_t ahead_lines = block.ahead.bytes > 0 ? (block.ahead.bytes / 64 + steps - 1) / steps : 0;
  for (std::int64_t step = 0; step < steps; ++step) {
    const std::byte* const panel = block.panel + step * shape.groups * panel_group_bytes;
    const std::int64_t at = step * tile_bytes;
    tiles.template load<6>(panel, panel_group_bytes);
    tiles.template load<4>(block.a + at, block.a_stride);
    tiles.template multiply<0, 4, 6>();
    fetch(block.ahead.data + step * ahead_lines * 64, ahead_lines);
    tiles.template load<7>(panel + tile_bytes, panel_group_bytes);
    tiles.template multiply<1, 4, 7>();
    if (shape.lower_rows == 0) continue;
    tiles.template load<5>(lower_a + at, block.a_stride);
    tiles.template multiply<2, 5, 6>();
    tiles.template multiply<3, 5, 7>();
  }
  store_sums<0>(tiles, block.c);
  if (shape.lower_rows > 0) store_sums<2>(tiles, lower_c);
}

/// All rows, 32 at a time, for `steps` steps of `groups` groups each.
template <typename Tiles>
void multiply_stretch(Tiles& tiles, const Block& block, int rows, int groups) {
  TileBlock configured{0, 0, 0};
  for (int row = 0; row < rows; row += 2 * tile_rows) {
    const TileBlock shape = {std::min(tile_rows, rows - row), std::clamp(rows - row - tile_rows, 0, tile_rows), groups};
    if (shape != configured) tiles.configure(configuration(shape));
    configured = shape;
    Block part = block;
    part.a += row * block.a_stride;
    part.c += row * sum_row_bytes;
    part.ahead = block.ahead.share(row, 2 * tile_rows, rows);
    multiply_tiles(tiles, part, shape, block.groups / groups);
  }
}

/// c = a times the stretch of a panel, for any number of rows. What does not fill a tile's depth is a stretch of its
/// own, with shorter tiles.
template <typename Tiles>
void multiply_with_tiles(Tiles& tiles, const Block& block, int rows) {
  const std::int64_t whole = block.groups / tile_rows * tile_rows;
  const auto tail = static_cast<int>(block.groups - whole);
  Block part = block;
  part.groups = whole;
  if (whole > 0) multiply_stretch(tiles, part, rows, tile_rows);
  if (tail > 0) {
    part.a += whole * 4;
    part.panel += whole * panel_group_bytes;
    part.groups = tail;
    if (whole > 0) {
      part.sums = Sums::go_on;
      part.ahead = {};
    }
    multiply_stretch(tiles, part, rows, tail);
  }
  tiles.release();
}

}  // namespace assay::cpu::micro
