#include "formats/ggml_type.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/threads.h"
#include "formats/ggml_blocks.h"

namespace assay {
namespace {

// clang-format off
constexpr GgmlLayout layouts[] = {
    // type              name      elements  bytes  group  dtype         decode
    {GgmlType::f32,    "F32",     1,        4,     1,     DType::f32,   nullptr},
    {GgmlType::f16,    "F16",     1,        2,     1,     DType::f16,   nullptr},
    {GgmlType::bf16,   "BF16",    1,        2,     1,     DType::bf16,  nullptr},
    {GgmlType::q8_0,   "Q8_0",    32,       34,    32,    std::nullopt, decode_q8_0},
    {GgmlType::q4_0,   "Q4_0",    32,       18,    32,    std::nullopt, decode_q4_0},
    {GgmlType::q4_1,   "Q4_1",    32,       20,    32,    std::nullopt, decode_q4_1},
    {GgmlType::q5_0,   "Q5_0",    32,       22,    32,    std::nullopt, decode_q5_0},
    {GgmlType::q5_1,   "Q5_1",    32,       24,    32,    std::nullopt, decode_q5_1},
    {GgmlType::q2_k,   "Q2_K",    256,      84,    16,    std::nullopt, decode_q2_k},
    {GgmlType::q3_k,   "Q3_K",    256,      110,   16,    std::nullopt, decode_q3_k},
    {GgmlType::q4_k,   "Q4_K",    256,      144,   32,    std::nullopt, decode_q4_k},
    {GgmlType::q5_k,   "Q5_K",    256,      176,   32,    std::nullopt, decode_q5_k},
    {GgmlType::q6_k,   "Q6_K",    256,      210,   16,    std::nullopt, decode_q6_k},
    {GgmlType::iq4_nl, "IQ4_NL",  32,       18,    32,    std::nullopt, decode_iq4_nl},
    {GgmlType::iq4_xs, "IQ4_XS",  256,      136,   32,    std::nullopt, decode_iq4_xs},
    {GgmlType::mxfp4,  "MXFP4",   32,       17,    32,    std::nullopt, decode_mxfp4},
    {GgmlType::nvfp4,  "NVFP4",   64,       36,    16,    std::nullopt, decode_nvfp4},
};
// clang-format on

/// Types that exist and are not read, so that an error can call them by name.
struct OtherType {
  std::uint32_t number;
  const char* name;
};
constexpr OtherType other_types[] = {{9, "Q8_1"},     {15, "Q8_K"},  {16, "IQ2_XXS"}, {17, "IQ2_XS"},
                                     {18, "IQ3_XXS"}, {19, "IQ1_S"}, {21, "IQ3_S"},   {22, "IQ2_S"},
                                     {24, "I8"},      {25, "I16"},   {26, "I32"},     {27, "I64"},
                                     {28, "F64"},     {29, "IQ1_M"}, {34, "TQ1_0"},   {35, "TQ2_0"}};

/// Some 0.3 ms of work, so that a thread that waits for a busy core costs little beside it.
constexpr std::int64_t elements_worth_a_thread = 262'144;

void expand(const GroupedCodes& block, const GgmlLayout& layout, float* out) {
  for (std::size_t group = 0; group < layout.block_elements / layout.group_elements; ++group) {
    const float scale = block.scales[group];
    const float minimum = block.minima[group];
    const std::size_t first = group * layout.group_elements;
    for (std::size_t i = first; i < first + layout.group_elements; ++i)
      out[i] = scale * static_cast<float>(block.codes[i]) - minimum;
  }
}

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
  ASSAY_ASSERT(out.size() % layout.block_elements == 0);
  ASSAY_ASSERT(blocks.size() == out.size() / layout.block_elements * layout.block_bytes);
  if (layout.dtype) return convert(*layout.dtype, blocks.data(), DType::f32, out.data(), out.size());
  const auto count = static_cast<std::int64_t>(out.size() / layout.block_elements);
  const std::int64_t worth = elements_worth_a_thread / static_cast<std::int64_t>(layout.block_elements);
  parallel_for(count, worth, [&](std::int64_t begin, std::int64_t end) {
    GroupedCodes codes;
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      layout.decode(blocks.data() + i * layout.block_bytes, codes);
      expand(codes, layout, out.data() + i * layout.block_elements);
    }
  });
}

}  // namespace assay
