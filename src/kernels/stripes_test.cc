#include "kernels/stripes.h"

#include <gtest/gtest.h>

#include <cstring>

#include <vector>

#include "base/random.h"
#include "kernels/packing.h"

namespace assay {
namespace {

std::vector<std::byte> random_blocks(std::int64_t bytes) {
  Random random(11, 0);
  std::vector<std::byte> blocks(static_cast<std::size_t>(bytes));
  for (std::byte& byte : blocks) byte = static_cast<std::byte>(random.below(100));  // Scales are small numbers.
  return blocks;
}

std::vector<float> expanded(const BlockFormat& format, const GroupedCodes& codes) {
  std::vector<float> values(static_cast<std::size_t>(format.elements));
  expand_codes(format, codes, values.data());
  return values;
}

/// NaN too is to be the same.
bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

TEST(Stripes, EveryBlockOfEveryFormatComesBackFromItsPanel) {
  constexpr std::int64_t rows = 37;
  constexpr std::int64_t blocks_of_row = 3;
  for (const BlockFormat* format : block_formats()) {
    const std::int64_t row_bytes = blocks_of_row * format->bytes;
    const std::vector<std::byte> plain = random_blocks(rows * row_bytes);
    const Packing packing = {.kind = Packing::Kind::panels,
                             .dtype = DType::u8,
                             .width = stripe_rows,
                             .group = static_cast<std::int32_t>(stripe_bytes(*format) / stripe_rows),
                             .blocks = format};
    std::vector<std::byte> packed(packed_bytes(packing, rows, row_bytes));
    pack({DType::u8, {rows, row_bytes}, plain.data()}, packing, packed.data());
    const Packing none;
    const BlockRows from = {*format, none, plain.data(), row_bytes};
    const BlockRows to = {*format, packing, packed.data(), row_bytes};
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t block = 0; block < blocks_of_row; ++block) {
        GroupedCodes one;
        GroupedCodes other;
        from.decode(row, block, one);
        to.decode(row, block, other);
        EXPECT_TRUE(same_bits(expanded(*format, one), expanded(*format, other)))
            << format->name << " " << row << " " << block;
      }
    }
  }
}

TEST(Stripes, ArePackedInWholeLinesAndHardlyLargerThanTheirBlocks) {
  for (const BlockFormat* format : block_formats()) {
    const std::int64_t plain = stripe_rows * format->bytes;
    EXPECT_EQ(stripe_bytes(*format) % stripe_rows, 0) << format->name;
    if (!stripe_layout(*format)) continue;
    EXPECT_EQ(stripe_bytes(*format) % 64, 0) << format->name;
    EXPECT_LE(static_cast<double>(stripe_bytes(*format)), 1.06 * static_cast<double>(plain)) << format->name;
  }
  EXPECT_EQ(stripe_bytes(blocks::q4_0), stripe_rows * blocks::q4_0.bytes);
  EXPECT_EQ(stripe_bytes(blocks::q8_0), stripe_rows * blocks::q8_0.bytes);
}

}  // namespace
}  // namespace assay
