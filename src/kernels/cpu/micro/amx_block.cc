#include "kernels/cpu/micro/tile_block.h"

namespace assay::cpu::micro {
namespace {

/// The tile registers. In assembly, because GCC 12's intrinsic names 8 of the 64 bytes of the configuration as its
/// input, and the optimiser drops the stores to the others. So the file needs no target of its own, under which what
/// the header leaves to be inlined would stay calls.
struct HardwareTiles {
  void configure(const TileConfiguration& configuration) { asm volatile("ldtilecfg %0" ::"m"(configuration)); }
  void release() { asm volatile("tilerelease"); }
  template <int tile>
  void zero() {
    asm volatile("tilezero %%tmm%c0" ::"i"(tile));
  }
  template <int tile>
  void load(const std::byte* data, std::int64_t stride) {
    asm volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(data), "r"(stride), "i"(tile) : "memory");
  }
  template <int tile>
  void store(std::byte* data, std::int64_t stride) {
    asm volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(data), "r"(stride), "i"(tile) : "memory");
  }
};

struct Bf16Tiles : HardwareTiles {
  template <int sums, int a, int weights>
  void multiply() {
    asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(sums), "i"(a), "i"(weights));
  }
};

struct S8Tiles : HardwareTiles {
  template <int sums, int a, int weights>
  void multiply() {
    asm volatile("tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(sums), "i"(a), "i"(weights));
  }
};

}  // namespace

void multiply_bf16_tiles(const Block& block, int rows) {
  Bf16Tiles tiles;
  multiply_with_tiles(tiles, block, rows);
}

void multiply_s8_tiles(const Block& block, int rows) {
  S8Tiles tiles;
  multiply_with_tiles(tiles, block, rows);
}

}  // namespace assay::cpu::micro
