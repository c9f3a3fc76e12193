#include "formats/ggml_type.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/error.h"
#include "base/threads.h"

namespace assay {
namespace {

constexpr std::array<GgmlLayout, 6> layouts = {{
    {GgmlType::f32, "F32", 1, 4, DType::f32},
    {GgmlType::f16, "F16", 1, 2, DType::f16},
    {GgmlType::bf16, "BF16", 1, 2, DType::bf16},
    {GgmlType::q8_0, "Q8_0", 32, 34, std::nullopt},
    {GgmlType::q4_0, "Q4_0", 32, 18, std::nullopt},
    {GgmlType::q4_1, "Q4_1", 32, 20, std::nullopt},
}};

/// Types that exist and are not read, so that an error can call them by name.
struct OtherType {
  std::uint32_t number;
  const char* name;
};
constexpr std::array<OtherType, 25> other_types = {{
    {6, "Q5_0"},   {7, "Q5_1"},   {9, "Q8_1"},     {10, "Q2_K"},   {11, "Q3_K"},    {12, "Q4_K"},  {13, "Q5_K"},
    {14, "Q6_K"},  {15, "Q8_K"},  {16, "IQ2_XXS"}, {17, "IQ2_XS"}, {18, "IQ3_XXS"}, {19, "IQ1_S"}, {20, "IQ4_NL"},
    {21, "IQ3_S"}, {22, "IQ2_S"}, {23, "IQ4_XS"},  {24, "I8"},     {25, "I16"},     {26, "I32"},   {27, "I64"},
    {28, "F64"},   {29, "IQ1_M"}, {34, "TQ1_0"},   {35, "TQ2_0"},
}};

constexpr std::size_t block_elements = 32;

struct Q8_0 {
  f16 d;
  std::array<std::int8_t, block_elements> q;
};
struct Q4_0 {
  f16 d;
  std::array<std::uint8_t, block_elements / 2> q;
};
struct Q4_1 {
  f16 d;
  f16 m;
  std::array<std::uint8_t, block_elements / 2> q;
};

void expand(const Q8_0& block, float* out) {
  const float d = to_f32(block.d);
  for (std::size_t i = 0; i < block_elements; ++i) out[i] = d * static_cast<float>(block.q[i]);
}

void expand(const Q4_0& block, float* out) {
  const float d = to_f32(block.d);
  for (std::size_t i = 0; i < block_elements / 2; ++i) {
    out[i] = d * static_cast<float>((block.q[i] & 0x0F) - 8);
    out[i + block_elements / 2] = d * static_cast<float>((block.q[i] >> 4) - 8);
  }
}

void expand(const Q4_1& block, float* out) {
  const float d = to_f32(block.d);
  const float m = to_f32(block.m);
  for (std::size_t i = 0; i < block_elements / 2; ++i) {
    out[i] = d * static_cast<float>(block.q[i] & 0x0F) + m;
    out[i + block_elements / 2] = d * static_cast<float>(block.q[i] >> 4) + m;
  }
}

/// Some 0.3 ms of work, so that a thread that waits for a busy core costs little beside it.
constexpr std::int64_t blocks_worth_a_thread = 8192;

template <typename Block>
void expand_all(std::span<const std::byte> blocks, std::span<float> out) {
  const auto count = static_cast<std::int64_t>(out.size() / block_elements);
  parallel_for(count, blocks_worth_a_thread, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      Block block;  // A copy: blocks may lie at any byte.
      std::memcpy(&block, blocks.data() + static_cast<std::size_t>(i) * sizeof(Block), sizeof(Block));
      expand(block, out.data() + static_cast<std::size_t>(i) * block_elements);
    }
  });
}

}  // namespace

const GgmlLayout* find_ggml_layout(std::uint32_t number) {
  const auto* found = std::find_if(layouts.begin(), layouts.end(), [&](const GgmlLayout& layout) {
    return static_cast<std::uint32_t>(layout.type) == number;
  });
  return found == layouts.end() ? nullptr : found;
}

const GgmlLayout& layout_of(GgmlType type) {
  const GgmlLayout* layout = find_ggml_layout(static_cast<std::uint32_t>(type));
  ASSAY_ASSERT(layout != nullptr);
  return *layout;
}

std::string describe_ggml_type(std::uint32_t number) {
  if (const GgmlLayout* layout = find_ggml_layout(number)) return layout->name;
  for (const OtherType& other : other_types) {
    if (other.number == number) return fmt::format("{} (type {})", other.name, number);
  }
  return fmt::format("type {}", number);
}

void dequantise(GgmlType type, std::span<const std::byte> blocks, std::span<float> out) {
  const GgmlLayout& layout = layout_of(type);
  ASSAY_ASSERT(out.size() % layout.block_elements == 0);
  ASSAY_ASSERT(blocks.size() == out.size() / layout.block_elements * layout.block_bytes);
  if (layout.dtype) return convert(*layout.dtype, blocks.data(), DType::f32, out.data(), out.size());
  switch (type) {
    case GgmlType::q8_0:
      return expand_all<Q8_0>(blocks, out);
    case GgmlType::q4_0:
      return expand_all<Q4_0>(blocks, out);
    default:
      return expand_all<Q4_1>(blocks, out);
  }
}

}  // namespace assay
