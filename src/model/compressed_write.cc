#include "model/compressed_write.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "base/error.h"
#include "base/json.h"
#include "model/quantised_layouts.h"

namespace assay {
namespace {

using Inputs = CompressedScheme::Inputs;

constexpr std::int64_t input_group = 32;  ///< Inputs::by_group

const StoredLayout& layout_named(std::string_view format) {
  const std::span<const StoredLayout> all = stored_layouts();
  const auto found = std::find_if(all.begin(), all.end(), [&](const StoredLayout& layout) {
    return layout.method == StoredQuantisation::Method::compressed_tensors && format == layout.format;
  });
  ASSAY_ASSERT(found != all.end());
  return *found;
}

std::string ending_of(const StoredLayout& layout, Part part) {
  return layout.endings[static_cast<std::size_t>(part)];
}

/// Codes as they are packed: without a sign, the first in the lowest bits of 32-bit words. `step`: between codes and
/// between words.
void pack_words(const std::int8_t* codes, std::int64_t count, std::int64_t step, std::int64_t bits,
                std::uint32_t* words) {
  const std::int64_t each = 32 / bits;
  const std::int32_t middle = 1 << (bits - 1);
  for (std::int64_t i = 0; i < count; ++i) {
    std::uint32_t& word = words[i / each * step];
    if (i % each == 0) word = 0;
    word |= static_cast<std::uint32_t>(codes[i * step] + middle) << (i % each * bits);
  }
}

/// s8 (out, in) -> s32 (out, words of in codes)
Tensor packed_along_rows(const Tensor& codes, std::int64_t bits) {
  const std::int64_t in = codes.shape()[1];
  const std::int64_t words = pieces(in * bits, 32);
  Tensor packed(DType::s32, {codes.shape()[0], words});
  for (std::int64_t n = 0; n < codes.shape()[0]; ++n)
    pack_words(codes.as<std::int8_t>() + n * in, in, 1, bits, packed.as<std::uint32_t>() + n * words);
  return packed;
}

/// s8 (out, groups) -> s32 (words of out codes, groups)
Tensor packed_along_columns(const Tensor& zeros, std::int64_t bits) {
  const std::int64_t groups = zeros.shape()[1];
  Tensor packed(DType::s32, {pieces(zeros.shape()[0] * bits, 32), groups});
  for (std::int64_t g = 0; g < groups; ++g)
    pack_words(zeros.as<std::int8_t>() + g, zeros.shape()[0], groups, bits, packed.as<std::uint32_t>() + g);
  return packed;
}

Tensor copied_part(const TensorView& view, Shape shape) {
  Tensor copy(view.dtype, std::move(shape));
  std::memcpy(copy.data(), view.data, copy.bytes());
  return copy;
}

/// (out, in) as two whole numbers of 64 bits; f64 stands for any element of eight bytes.
Tensor shape_tensor(const Shape& shape) {
  Tensor two(DType::f64, {2});
  std::memcpy(two.data(), shape.data(), two.bytes());
  return two;
}

/// A block of the formats that make_blocks makes: the zero point stands behind the scale.
struct MadeBlock {
  const BlockFormat& format;

  const BlockMaker& maker() const { return *format.maker; }
  int zero(const std::byte* block) const {
    if (maker().zero == Zero::middle) return 0;
    const auto stored = static_cast<std::int8_t>(block[size_of(maker().scale)]);
    return maker().lowest == 0 ? stored - middle() : stored;
  }
  /// Of codes without a sign.
  int middle() const { return (maker().highest + 1) / 2; }
};

void split_block(const MadeBlock& made, const std::byte* block, std::int8_t* codes, std::byte* scale,
                 std::int8_t* zero) {
  GroupedCodes grouped;
  made.format.decode(block, grouped);
  std::memcpy(scale, block, size_of(made.maker().scale));
  if (zero != nullptr) *zero = static_cast<std::int8_t>(made.zero(block));
  const bool is_less_zero = made.maker().lowest == 0;  // Eight bits keep their zero point apart.
  for (std::int64_t i = 0; i < made.format.elements; ++i)
    codes[i] = static_cast<std::int8_t>(grouped.codes[static_cast<std::size_t>(i)] +
                                        (is_less_zero && zero != nullptr ? *zero : 0));
}

Json inputs_json(const CompressedScheme& scheme) {
  if (scheme.inputs == Inputs::as_they_are) return nullptr;
  const bool by_group = scheme.inputs == Inputs::by_group;
  return {{"num_bits", 8},
          {"type", scheme.type},
          {"symmetric", true},
          {"strategy", by_group ? "group" : "token"},
          {"group_size", by_group ? Json(input_group) : Json(nullptr)},
          {"dynamic", true},
          {"observer", nullptr}};
}

Json weights_json(const CompressedScheme& scheme) {
  const bool by_group = scheme.group > 0;
  return {{"num_bits", scheme.bits},
          {"type", scheme.type},
          {"symmetric", scheme.zero == Zero::middle},
          {"strategy", by_group ? "group" : "channel"},
          {"group_size", by_group ? Json(scheme.group) : Json(nullptr)},
          {"dynamic", false},
          {"observer", "minmax"}};
}

}  // namespace

bool CompressedScheme::operator==(const CompressedScheme& other) const {
  return std::string_view(format) == other.format && bits == other.bits && std::string_view(type) == other.type &&
         group == other.group && zero == other.zero && inputs == other.inputs;
}

CodedRows rows_with_scales(const TensorView& codes, const TensorView& scales) {
  return {copied_part(codes, codes.shape), copied_part(scales, {codes.shape[0], 1}), {}};
}

CodedRows rows_of_blocks(const BlockFormat& format, const TensorView& blocks) {
  const MadeBlock made{format};
  const std::int64_t out = blocks.shape[0];
  const std::int64_t groups = blocks.shape[1] / format.bytes;
  CodedRows rows{Tensor(DType::s8, {out, groups * format.elements}), Tensor(made.maker().scale, {out, groups}), {}};
  const bool has_zeros = made.maker().zero == Zero::stored;
  if (has_zeros) rows.zeros = Tensor(DType::s8, {out, groups});
  for (std::int64_t i = 0; i < out * groups; ++i)
    split_block(made, blocks.data + i * format.bytes, rows.codes.as<std::int8_t>() + i * format.elements,
                rows.scales.data() + static_cast<std::size_t>(i) * size_of(made.maker().scale),
                has_zeros ? rows.zeros.as<std::int8_t>() + i : nullptr);
  return rows;
}

std::vector<std::pair<std::string, Tensor>> compressed_parts(const CompressedScheme& scheme, const CodedRows& rows) {
  const StoredLayout& layout = layout_named(scheme.format);
  const bool is_packed = layout.endings[static_cast<std::size_t>(Part::shape)] != nullptr;
  std::vector<std::pair<std::string, Tensor>> parts;
  const auto add = [&](Part part, Tensor tensor) { parts.emplace_back(ending_of(layout, part), std::move(tensor)); };
  add(Part::codes,
      is_packed ? packed_along_rows(rows.codes, scheme.bits) : copied_part(rows.codes.view(), rows.codes.shape()));
  add(Part::scales, copied_part(rows.scales.view(), rows.scales.shape()));
  if (rows.zeros.data() != nullptr) add(Part::zeros, packed_along_columns(rows.zeros, scheme.bits));
  if (is_packed) add(Part::shape, shape_tensor(rows.codes.shape()));
  return parts;
}

Json compression_config(const std::vector<CompressedGroup>& groups, const std::vector<std::string>& plain) {
  Json config_groups = Json::object();
  for (const CompressedGroup& group : groups) {
    // One scheme is that of all linear layers but those that are named; of several each has to name its own.
    config_groups["group_" + std::to_string(config_groups.size())] = {
        {"targets", groups.size() == 1 ? Json::array({"Linear"}) : Json(group.modules)},
        {"weights", weights_json(group.scheme)},
        {"input_activations", inputs_json(group.scheme)},
        {"output_activations", nullptr},
        {"format", group.scheme.format}};
  }
  const bool is_one_format = std::all_of(groups.begin(), groups.end(), [&](const CompressedGroup& group) {
    return std::string_view(group.scheme.format) == groups.front().scheme.format;
  });
  return {{"quant_method", "compressed-tensors"},
          {"format", is_one_format ? groups.front().scheme.format : "mixed-precision"},
          {"quantization_status", "compressed"},
          {"config_groups", config_groups},
          {"ignore", plain},
          {"kv_cache_scheme", nullptr},
          {"global_compression_ratio", nullptr}};
}

}  // namespace assay
