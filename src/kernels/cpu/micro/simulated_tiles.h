#pragma once

#include <cstring>

#include "base/error.h"
#include "kernels/cpu/micro/tile_block.h"
#include "tensor/dtype.h"

namespace assay::cpu::micro {

/// The tile registers as the Intel SDM (volume 2, TDPBF16PS and TDPBSSD) describes them, for machines without: shapes
/// are checked as the processor checks them, bytes beyond a tile's shape read as zero.
class SimulatedTiles {
 public:
  void configure(const TileConfiguration& configuration) {
    shape_ = configuration;
    std::memset(data_, 0, sizeof(data_));
  }
  void release() { shape_ = {.palette = 0}; }

  template <int tile>
  void zero() {
    ASSAY_ASSERT(shape_.rows[tile] > 0);
    std::memset(data_[tile], 0, sizeof(data_[tile]));
  }
  template <int tile>
  void load(const std::byte* data, std::int64_t stride) {
    zero<tile>();
    for (int row = 0; row < shape_.rows[tile]; ++row) {
      std::memcpy(data_[tile][row], data + row * stride, shape_.row_bytes[tile]);
    }
  }
  template <int tile>
  void store(std::byte* data, std::int64_t stride) {
    for (int row = 0; row < shape_.rows[tile]; ++row) {
      std::memcpy(data + row * stride, data_[tile][row], shape_.row_bytes[tile]);
    }
  }

 protected:
  /// Calls body(row, depth, column) for every group that the instruction multiplies.
  template <typename Body>
  void for_groups(int sums, int a, int weights, Body body) {
    ASSAY_ASSERT(shape_.palette == 1 && shape_.rows[sums] == shape_.rows[a]);
    ASSAY_ASSERT(shape_.row_bytes[sums] == shape_.row_bytes[weights] &&
                 shape_.row_bytes[a] == shape_.rows[weights] * 4);
    for (int row = 0; row < shape_.rows[sums]; ++row) {
      for (int depth = 0; depth < shape_.rows[weights]; ++depth) {
        for (int column = 0; column < shape_.row_bytes[sums] / 4; ++column) body(row, depth, column);
      }
    }
  }
  template <typename T>
  T* row(int tile, int index) {
    return reinterpret_cast<T*>(data_[tile][index]);
  }

 private:
  TileConfiguration shape_ = {.palette = 0};
  alignas(64) std::byte data_[8][tile_rows][tile_bytes] = {};
};

struct SimulatedBf16Tiles : SimulatedTiles {
  template <int sums, int a, int weights>
  void multiply() {
    for_groups(sums, a, weights, [&](int m, int depth, int column) {
      const bf16* const x = row<bf16>(a, m) + 2 * depth;
      const bf16* const w = row<bf16>(weights, depth) + 2 * column;
      float& sum = row<float>(sums, m)[column];
      sum += to_f32(x[0]) * to_f32(w[0]);
      sum += to_f32(x[1]) * to_f32(w[1]);
    });
  }
};

struct SimulatedS8Tiles : SimulatedTiles {
  template <int sums, int a, int weights>
  void multiply() {
    for_groups(sums, a, weights, [&](int m, int depth, int column) {
      const std::int8_t* const x = row<std::int8_t>(a, m) + 4 * depth;
      const std::int8_t* const w = row<std::int8_t>(weights, depth) + 4 * column;
      for (int i = 0; i < 4; ++i) row<std::int32_t>(sums, m)[column] += x[i] * w[i];
    });
  }
};

/// A block by simulated tiles, for MatmulCode::multiply.
template <typename Tiles>
void multiply_simulated(const Block& block, int rows) {
  Tiles tiles;
  multiply_with_tiles(tiles, block, rows);
}

}  // namespace assay::cpu::micro
