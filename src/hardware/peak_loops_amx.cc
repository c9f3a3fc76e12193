#include <array>
#include <cstring>

#include "hardware/peak_loops.h"

namespace assay {
namespace {

constexpr int rows = 16;
constexpr std::int64_t row_bytes = 64;

/// The 64 bytes that LDTILECFG reads (Intel SDM volume 1, chapter 18, palette 1).
struct alignas(64) TileConfig {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t bytes_per_row[16] = {};
  std::uint8_t rows[16] = {};
};
static_assert(sizeof(TileConfig) == 64);

struct alignas(64) Tile {
  std::uint32_t words[rows * row_bytes / 4];
};

TileConfig full_tiles() {
  TileConfig config;
  for (int tile = 0; tile < 8; ++tile) {
    config.bytes_per_row[tile] = row_bytes;
    config.rows[tile] = rows;
  }
  return config;
}

/// Configures the tiles of this thread, clears the accumulators 0 to 3 and loads 4, 5 with `a` and 6, 7 with `b`.
///
/// Assembly, because GCC 12's _tile_loadconfig names 8 of the 64 configuration bytes as its input and the optimiser may
/// drop the stores to the others; here the whole object is an operand.
void load_tiles(const TileConfig& config, const Tile& a, const Tile& b) {
  asm volatile("ldtilecfg %0" : : "m"(config));
  asm volatile(
      "tilezero %%tmm0\n\ttilezero %%tmm1\n\ttilezero %%tmm2\n\ttilezero %%tmm3\n\t"
      "tileloadd (%0,%2,1), %%tmm4\n\ttileloadd (%0,%2,1), %%tmm5\n\t"
      "tileloadd (%1,%2,1), %%tmm6\n\ttileloadd (%1,%2,1), %%tmm7"
      :
      : "r"(a.words), "r"(b.words), "r"(row_bytes), "m"(a), "m"(b));
}

void prepare_tiles(std::uint32_t a_bits, std::uint32_t b_bits) {
  Tile a;
  Tile b;
  for (std::uint32_t& word : a.words) word = a_bits;
  for (std::uint32_t& word : b.words) word = b_bits;
  load_tiles(full_tiles(), a, b);
}

#define ASSAY_FOUR_TILES(instruction)                                                             \
  instruction " %%tmm6, %%tmm4, %%tmm0\n\t" instruction " %%tmm7, %%tmm4, %%tmm1\n\t" instruction \
              " %%tmm6, %%tmm5, %%tmm2\n\t" instruction " %%tmm7, %%tmm5, %%tmm3\n\t"
#define ASSAY_SIXTEEN_TILES(instruction) \
  ASSAY_FOUR_TILES(instruction)          \
  ASSAY_FOUR_TILES(instruction) ASSAY_FOUR_TILES(instruction) ASSAY_FOUR_TILES(instruction)

}  // namespace

void run_tdpbf16ps(std::int64_t rounds) {
  prepare_tiles(0x3f7f3f7d, 0x3a833a85);
  asm volatile("1:\n\t" ASSAY_SIXTEEN_TILES("tdpbf16ps") "dec %0\n\tjnz 1b\n\ttilerelease" : "+r"(rounds) : : "cc");
}

void run_tdpbusd(std::int64_t rounds) {
  prepare_tiles(0x5b375b39, 0x374d2b35);
  asm volatile("1:\n\t" ASSAY_SIXTEEN_TILES("tdpbusd") "dec %0\n\tjnz 1b\n\ttilerelease" : "+r"(rounds) : : "cc");
}

}  // namespace assay
