#include "kernels/cpu/micro/tile_block.h"

namespace assay::cpu::micro {
namespace {

/// The tile registers. In assembly, because GCC 12's intrinsic names 8 of the 64 bytes of the configuration as its
/// input, and the optimiser drops the stores to the others. So the file needs no target of its own, under which what
/// the header leaves to be inlined would stay calls.
///
/// Behind each of them come instructions that do nothing. Where a core's other hardware thread works too (so it seems:
/// docs/performance.md), tile instructions one behind the other get little of the core: on Emerald Rapids a step of
/// multiply_tiles took 147 ns then, and 90 with twelve of these in between (102 with 4, 95 with 8, 96 with 24); with
/// the core to itself it took 38 ns either way.
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
    give_way();
  }
  template <int tile>
  void store(std::byte* data, std::int64_t stride) {
    asm volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(data), "r"(stride), "i"(tile) : "memory");
    give_way();
  }
  void give_way() { asm volatile(".rept 12\n\tnop\n\t.endr"); }
};

struct Bf16Tiles : HardwareTiles {
  template <int sums, int a, int weights>
  void multiply() {
    asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(sums), "i"(a), "i"(weights));
    give_way();
  }
};

struct S8Tiles : HardwareTiles {
  template <int sums, int a, int weights>
  void multiply() {
    asm volatile("tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(sums), "i"(a), "i"(weights));
    give_way();
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
