#include "tensor/slabs.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "base/error.h"

namespace assay {
namespace {

/// Blocks that were filled, each with its number.
struct Blocks {
  void take(Slabs& slabs, std::size_t bytes) {
    std::byte* const block = slabs.take(bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % 64, 0U);
    std::memset(block, static_cast<int>(all.size()), bytes);
    all.emplace_back(block, bytes);
  }
  void expect_apart() const {
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto [block, bytes] = all[i];
      EXPECT_EQ(block[0], std::byte(i)) << bytes;
      EXPECT_EQ(block[bytes - 1], std::byte(i)) << "a later block reaches into one of " << bytes;
    }
  }
  std::vector<std::pair<std::byte*, std::size_t>> all;
};

TEST(Slabs, BlocksAreAlignedAndApartWhateverTheirSizes) {
  constexpr std::size_t mib = std::size_t{1} << 20;
  Slabs slabs;
  Blocks blocks;
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{64}, 15 * mib, 2 * mib, 40 * mib, std::size_t{100}})
    blocks.take(slabs, bytes);
  blocks.expect_apart();
}

TEST(Slabs, ARefusalLeavesThemUsable) {
#ifdef ASSAY_ADDRESS_SANITIZER
  GTEST_SKIP() << "AddressSanitizer ends the program at such a request";
#endif
  constexpr std::size_t mib = std::size_t{1} << 20;
  Slabs slabs;
  Blocks blocks;
  blocks.take(slabs, 1);
  EXPECT_THROW(slabs.take(std::size_t{1} << 60), Error);
  for (int i = 0; i < 20; ++i) blocks.take(slabs, mib);
  blocks.expect_apart();
}

TEST(Slabs, AHugePageThatIsTouchedIsResidentAsAWhole) {
  constexpr std::size_t mebibyte = std::size_t{1} << 20;
  SlabSizes sizes;
  EXPECT_EQ(sizes.resident_bytes(), 0U);
  EXPECT_EQ(sizes.take(9 * mebibyte), 16 * mebibyte) << "the first piece begins a slab";
  EXPECT_EQ(sizes.resident_bytes(), 10 * mebibyte);
  EXPECT_EQ(sizes.take(6 * mebibyte), 0U) << "the second one lies in it";
  EXPECT_EQ(sizes.resident_bytes(), 16 * mebibyte);
  EXPECT_EQ(sizes.take(9 * mebibyte), 16 * mebibyte) << "one mebibyte is left: too little";
  EXPECT_EQ(sizes.resident_bytes(), 26 * mebibyte);
  EXPECT_EQ(sizes.take(33 * mebibyte), 34 * mebibyte) << "a large piece has a slab of its own size";
}

}  // namespace
}  // namespace assay
