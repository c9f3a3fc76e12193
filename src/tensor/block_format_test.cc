#include "tensor/block_format.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <string>
#include <vector>

namespace assay {
namespace {

TEST(BlockFormats, NamesAreUniqueAndBlocksAreWholeGroups) {
  std::set<std::string> names;
  for (const BlockFormat* format : block_formats()) {
    EXPECT_TRUE(names.insert(format->name).second) << format->name;
    EXPECT_EQ(format->elements % format->group, 0) << format->name;
    EXPECT_LE(format->elements, most_block_elements) << format->name;
    EXPECT_LT(format->bytes, format->elements * 4) << format->name;
  }
}

TEST(BlockFormats, ARowOfAnyWidthIsWholeBlocks) {
  EXPECT_EQ(blocks::q4_0.bytes_of(64), 36);
  EXPECT_EQ(blocks::q4_0.bytes_of(65), 54);
  EXPECT_EQ(blocks::q4_k.bytes_of(1), 144);
}

/// A block of ascending codes behind the scale 0.5, and the zero point where there is one.
std::vector<std::byte> ascending_block(const BlockFormat& format, const void* scale, std::size_t scale_bytes,
                                       std::optional<int> zero) {
  std::vector<std::byte> block(static_cast<std::size_t>(format.bytes));
  std::memcpy(block.data(), scale, scale_bytes);
  std::size_t at = scale_bytes;
  if (zero) block[at++] = static_cast<std::byte>(*zero);
  for (std::size_t i = at; i < block.size(); ++i) block[i] = static_cast<std::byte>(i - at);
  return block;
}

TEST(BlockFormats, FourBitsLieInHalvesOfSixteenBytes) {
  const float scale = 0.5F;
  const std::vector<std::byte> block = ascending_block(blocks::int4z_g64_f32, &scale, 4, 3);
  float values[64];
  expand_block(blocks::int4z_g64_f32, block.data(), values);
  for (int i = 0; i < 64; ++i) {
    const int byte = i / 32 * 16 + i % 16;
    const int code = i % 32 < 16 ? byte & 0x0F : byte >> 4;
    EXPECT_EQ(values[i], 0.5F * static_cast<float>(code - 3)) << i;
  }
}

TEST(BlockFormats, EightBitsAreSignedAndSoIsTheirZero) {
  const f16 scale = to_f16(0.5F);
  const std::vector<std::byte> block = ascending_block(blocks::int8z_g128, &scale, 2, -100);
  float values[128];
  expand_block(blocks::int8z_g128, block.data(), values);
  for (int i = 0; i < 128; ++i) EXPECT_EQ(values[i], 0.5F * static_cast<float>(i + 100)) << i;
}

TEST(BlockFormats, AGroupOf32WithAnF16ScaleIsAsGgufHasIt) {
  const f16 scale = to_f16(0.25F);
  const std::vector<std::byte> block = ascending_block(blocks::q4_0, &scale, 2, {});
  float ours[32];
  float theirs[32];
  expand_block(blocks::q4_0, block.data(), theirs);
  expand_block(blocks::grouped<4, 32, f16, Zero::middle>("int4 g32"), block.data(), ours);
  EXPECT_EQ(std::memcmp(ours, theirs, sizeof(ours)), 0);
}

}  // namespace
}  // namespace assay
