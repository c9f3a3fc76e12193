#include "formats/ggml_type.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace assay {
namespace {

constexpr GgmlLayout plain(GgmlType type, const char* name, DType dtype) {
  return {type, name, 1, size_of(dtype), dtype, nullptr};
}

constexpr GgmlLayout in_blocks(GgmlType type, const BlockFormat& format) {
  return {type,         format.name, static_cast<std::size_t>(format.elements), static_cast<std::size_t>(format.bytes),
          std::nullopt, &format};
}

constexpr GgmlLayout layouts[] = {
    plain(GgmlType::f32, "F32", DType::f32),     plain(GgmlType::f16, "F16", DType::f16),
    plain(GgmlType::bf16, "BF16", DType::bf16),  in_blocks(GgmlType::q8_0, blocks::q8_0),
    in_blocks(GgmlType::q4_0, blocks::q4_0),     in_blocks(GgmlType::q4_1, blocks::q4_1),
    in_blocks(GgmlType::q5_0, blocks::q5_0),     in_blocks(GgmlType::q5_1, blocks::q5_1),
    in_blocks(GgmlType::q2_k, blocks::q2_k),     in_blocks(GgmlType::q3_k, blocks::q3_k),
    in_blocks(GgmlType::q4_k, blocks::q4_k),     in_blocks(GgmlType::q5_k, blocks::q5_k),
    in_blocks(GgmlType::q6_k, blocks::q6_k),     in_blocks(GgmlType::iq4_nl, blocks::iq4_nl),
    in_blocks(GgmlType::iq4_xs, blocks::iq4_xs), in_blocks(GgmlType::mxfp4, blocks::mxfp4),
    in_blocks(GgmlType::nvfp4, blocks::nvfp4),
};

/// Types that exist and are not read, so that an error can call them by name.
struct OtherType {
  std::uint32_t number;
  const char* name;
};
constexpr OtherType other_types[] = {{9, "Q8_1"},     {15, "Q8_K"},  {16, "IQ2_XXS"}, {17, "IQ2_XS"},
                                     {18, "IQ3_XXS"}, {19, "IQ1_S"}, {21, "IQ3_S"},   {22, "IQ2_S"},
                                     {24, "I8"},      {25, "I16"},   {26, "I32"},     {27, "I64"},
                                     {28, "F64"},     {29, "IQ1_M"}, {34, "TQ1_0"},   {35, "TQ2_0"}};

}  // namespace

const GgmlLayout* find_ggml_layout(std::uint32_t number) {
  const auto* found = std::find_if(std::begin(layouts), std::end(layouts), [&](const GgmlLayout& layout) {
    return static_cast<std::uint32_t>(layout.type) == number;
  });
  return found == std::end(layouts) ? nullptr : found;
}

const GgmlLayout& layout_of(GgmlType type) {
  const GgmlLayout* layout = find_ggml_layout(static_cast<std::uint32_t>(type));
  ASSAY_ASSERT(layout != nullptr);
  return *layout;
}

std::string ggml_type_names() {
  std::string names;
  for (const GgmlLayout& layout : layouts) names += (names.empty() ? "" : ", ") + std::string(layout.name);
  return names;
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
  if (layout.format != nullptr) return expand_blocks(*layout.format, blocks, out);
  ASSAY_ASSERT(blocks.size() == out.size() * layout.block_bytes);
  convert(*layout.dtype, blocks.data(), DType::f32, out.data(), out.size());
}

}  // namespace assay
