#include "formats/ggml_type.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "base/random.h"
#include "formats/safetensors.h"
#include "formats/testing.h"

namespace assay {
namespace {

std::string f16_bytes(float value) {
  return little_endian(to_f16(value).bits);
}

std::vector<float> expanded(GgmlType type, const std::string& blocks, std::size_t count) {
  std::vector<float> out(count, std::numeric_limits<float>::quiet_NaN());
  dequantise(type, bytes_of(blocks), out);
  return out;
}

TEST(Dequantise, Q8_0IsScaleTimesInteger) {
  std::string block = f16_bytes(0.125F);
  for (int i = 0; i < 32; ++i) block += static_cast<char>(i * 8 - 128);
  const std::vector<float> out = expanded(GgmlType::q8_0, block, 32);
  for (int i = 0; i < 32; ++i) EXPECT_EQ(out[static_cast<std::size_t>(i)], 0.125F * static_cast<float>(i * 8 - 128));
}

/// Nibble i of a block: low halves are elements 0 to 15, high halves elements 16 to 31.
std::string nibbles() {
  std::string q;
  for (int i = 0; i < 16; ++i) q += static_cast<char>(i | ((15 - i) << 4));
  return q;
}

TEST(Dequantise, Q4_0CountsFromMinusEight) {
  const std::vector<float> out = expanded(GgmlType::q4_0, f16_bytes(-0.5F) + nibbles(), 32);
  for (std::size_t i = 0; i < 16; ++i) {
    EXPECT_EQ(out[i], -0.5F * (static_cast<float>(i) - 8.0F));
    EXPECT_EQ(out[i + 16], -0.5F * (7.0F - static_cast<float>(i)));
  }
}

TEST(Dequantise, Q4_1AddsAMinimum) {
  const std::vector<float> out = expanded(GgmlType::q4_1, f16_bytes(0.1F) + f16_bytes(-0.7F) + nibbles(), 32);
  const float d = to_f32(to_f16(0.1F));
  const float m = to_f32(to_f16(-0.7F));
  for (std::size_t i = 0; i < 16; ++i) {
    EXPECT_EQ(out[i], d * static_cast<float>(i) + m);
    EXPECT_EQ(out[i + 16], d * static_cast<float>(15 - i) + m);
  }
}

TEST(Dequantise, PlainTypesWiden) {
  EXPECT_EQ(expanded(GgmlType::f32, little_endian(0.1F), 1)[0], 0.1F);
  EXPECT_EQ(expanded(GgmlType::f16, f16_bytes(0.1F), 1)[0], to_f32(to_f16(0.1F)));
  EXPECT_EQ(expanded(GgmlType::bf16, little_endian(to_bf16(0.1F).bits), 1)[0], to_f32(to_bf16(0.1F)));
}

/// Made by tools/generate_ggml_fixture.py.
TEST(Dequantise, EveryTypeIsBitEqualToItsDefinition) {
  const Safetensors fixture = open_safetensors(ASSAY_SOURCE_DIR "/tests/fixtures/ggml_blocks.safetensors");
  std::size_t types = 0;
  for (std::uint32_t number = 0; number < 64; ++number) {
    const GgmlLayout* layout = find_ggml_layout(number);
    if (layout == nullptr || layout->dtype) continue;
    const StoredTensor* blocks = fixture.find(std::string(layout->name) + ".blocks");
    ASSERT_NE(blocks, nullptr) << layout->name << " is missing in the fixture";
    const TensorView expected = fixture.find(std::string(layout->name) + ".values")->view();
    std::vector<float> found(static_cast<std::size_t>(expected.count()));
    dequantise(layout->type, blocks->bytes, found);
    for (std::size_t i = 0; i < found.size(); ++i) {
      ASSERT_EQ(std::bit_cast<std::uint32_t>(found[i]), std::bit_cast<std::uint32_t>(expected.as<float>()[i]))
          << layout->name << " element " << i << ": " << found[i] << ", expected " << expected.as<float>()[i];
    }
    ++types;
  }
  EXPECT_EQ(types, 14U);
}

TEST(Dequantise, EveryBlockIsExpandedAloneWhateverItsNeighbours) {
  Random random(1, 0);
  for (const GgmlType type : {GgmlType::q8_0, GgmlType::q5_1, GgmlType::nvfp4, GgmlType::q4_k, GgmlType::q6_k}) {
    const GgmlLayout& layout = layout_of(type);
    const std::size_t blocks = 525'157 / layout.block_elements;  // More than one thread's part, and odd.
    std::string bytes;
    bytes.reserve(blocks * layout.block_bytes);
    while (bytes.size() < blocks * layout.block_bytes) bytes += static_cast<char>(random.below(100));
    const std::vector<float> all = expanded(type, bytes, blocks * layout.block_elements);
    for (std::size_t i = 0; i < blocks; ++i) {
      const std::vector<float> one =
          expanded(type, bytes.substr(i * layout.block_bytes, layout.block_bytes), layout.block_elements);
      ASSERT_TRUE(std::equal(one.begin(), one.end(), all.begin() + std::ssize(one) * static_cast<std::ptrdiff_t>(i)))
          << layout.name << " block " << i;
    }
  }
}

TEST(GgmlType, UnreadTypesAreCalledByName) {
  EXPECT_EQ(describe_ggml_type(19), "IQ1_S (type 19)");
  EXPECT_EQ(describe_ggml_type(3), "Q4_1");
  EXPECT_EQ(describe_ggml_type(4'000'000'000U), "type 4000000000");
  EXPECT_EQ(find_ggml_layout(4), nullptr);
}

}  // namespace
}  // namespace assay
