#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cpu/blocking.h"
#include "kernels/cpu/product.h"

namespace assay::cpu {

/// How a product is divided: into tiles of `panels` panels and `rows` rows, of which the last ones are cut into pieces
/// along their rows, so that threads end together. A task is a tile or a piece. It packs its panels, passes through K
/// in chunks of `groups` groups, and through its rows in strips that are packed together.
struct Cut {
  std::int64_t groups = 0;
  std::int64_t strip = 0;
  std::int64_t panels = 1;
  std::int64_t panel_tiles = 1;
  std::int64_t rows = 0;
  std::int64_t row_tiles = 1;
  std::int64_t piece_rows = 0;   ///< At most.
  std::int64_t split_tiles = 0;  ///< At most.

  std::int64_t tiles() const { return panel_tiles * row_tiles; }
  std::int64_t pieces() const { return ceil_div(rows, piece_rows); }  ///< Of a tile that is split.
  std::int64_t split() const { return std::min(split_tiles, tiles()); }
  std::int64_t tasks() const { return tiles() + split() * (pieces() - 1); }

  struct Task {
    std::int64_t first_panel = 0;
    std::int64_t first_row = 0;
    std::int64_t end_row = 0;  ///< May lie behind the product's last one, and so may the first.
  };
  Task task(std::int64_t index) const {
    const std::int64_t whole = tiles() - split();
    const bool is_piece = index >= whole;
    const std::int64_t tile = is_piece ? whole + (index - whole) / pieces() : index;
    const std::int64_t begin = is_piece ? (index - whole) % pieces() * piece_rows : 0;
    const std::int64_t end = is_piece ? std::min(begin + piece_rows, rows) : rows;
    const std::int64_t first_row = tile / panel_tiles * rows;
    return {tile % panel_tiles * panels, first_row + begin, first_row + end};
  }
};

/// The cheapest cut whose packed panels fit the second cache, and whose sums, where they outlive a chunk, are no
/// larger.
Cut choose_cut(const Product& product, const MachineFacts& facts, const MatmulCode& code);

}  // namespace assay::cpu
