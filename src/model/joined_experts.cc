#include "model/joined_experts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "model/coded_matrix.h"
#include "model/quantised_parts.h"
#include "model/stored_values.h"

namespace assay {
namespace {

using NamedWeights = std::map<std::string, Weight>;

/// One kind of tensor, and what it becomes.
struct JoinedKind {
  std::string ending;              ///< Of the tensor's name: "gate_up_proj".
  std::vector<const char*> parts;  ///< Whose outputs take turns.
  std::int64_t in;
  std::int64_t out;  ///< Of one part.

  std::int64_t columns() const { return out * std::ssize(parts); }
};

std::vector<JoinedKind> kinds_of(const ModelConfig& c) {
  return {{"gate_up_proj", {"gate_proj", "up_proj"}, c.d_model, c.expert_d_ff},
          {"down_proj", {"down_proj"}, c.expert_d_ff, c.d_model}};
}

/// Of one expert, one of those that take turns.
struct ExpertPart {
  std::int64_t expert;
  std::int64_t part;
  std::int64_t parts;

  std::int64_t column(std::int64_t n) const { return n * parts + part; }
};

std::span<const std::byte> share_of(const Weight& all, std::int64_t expert) {
  const std::size_t bytes = all.bytes.size() / static_cast<std::size_t>(all.shape[0]);
  return all.bytes.subspan(static_cast<std::size_t>(expert) * bytes, bytes);
}

DType float_dtype(const Weight& weight) {
  if (weight.stored == "BF16") return DType::bf16;
  if (weight.stored == "F16") return DType::f16;
  if (weight.stored != "F32") fail_part(weight, "is none of BF16, F16 and F32");
  return DType::f32;
}

/// (in, columns) -> (out, in), of one part's columns.
template <typename Element>
void take_columns(const std::byte* from, const JoinedKind& kind, const ExpertPart& which, Tensor& to) {
  const std::int64_t in = to.count() / kind.out;
  const auto* const values = reinterpret_cast<const Element*>(from);
  auto* const taken = reinterpret_cast<Element*>(to.data());
  for (std::int64_t k = 0; k < in; ++k) {
    const Element* const row = values + k * kind.columns();
    for (std::int64_t n = 0; n < kind.out; ++n) taken[n * in + k] = row[which.column(n)];
  }
}

/// The columns of one part of a float (in, columns) as (out, in), or of a vector as (out).
WeightData read_floats(const Weight& all, const JoinedKind& kind, const ExpertPart& which, const Shape& shape) {
  const DType dtype = float_dtype(all);
  Tensor taken(dtype, shape);
  const auto take = size_of(dtype) == 2 ? take_columns<std::uint16_t> : take_columns<std::uint32_t>;
  take(share_of(all, which.expert).data(), kind, which, taken);
  return owning(std::move(taken));
}

CodedMatrix read_codes(const Weight& blocks, const Weight& scales, const JoinedKind& kind, const ExpertPart& which) {
  constexpr std::int64_t group = 32;
  CodedMatrix m{.out = kind.out, .in = kind.in, .codes = Codes::mxfp4};
  m.columns_a_scale = group;
  m.scale_columns = kind.in / group;
  const std::span<const std::byte> bits = share_of(scales, which.expert);
  for (std::int64_t n = 0; n < m.out; ++n) {
    for (std::int64_t g = 0; g < m.scale_columns; ++g) {
      const auto exponent =
          static_cast<std::uint8_t>(bits[static_cast<std::size_t>(which.column(n) * m.scale_columns + g)]);
      m.scale_bits.push_back(exponent);
      m.scales.push_back(e8m0_value(exponent));
    }
  }
  if (!std::all_of(m.scales.begin(), m.scales.end(), [](float scale) { return std::isfinite(scale); }))
    fail_part(scales, "holds NaN or infinite scales");
  m.read = [codes = share_of(blocks, which.expert), in = kind.in, which](std::int64_t first, std::int64_t rows,
                                                                         std::uint8_t* to) {
    for (std::int64_t n = first; n < first + rows; ++n, to += in)
      split_bytes(codes.data() + which.column(n) * in / 2, in, to);
  };
  return m;
}

/// One of the split weights, without its values.
Weight split_weight(const Weight& all, std::string name, Shape shape) {
  Weight weight = all;
  weight.name = std::move(name);
  weight.shape = std::move(shape);
  weight.order = StoredOrder::same;
  weight.rows_moved = true;
  weight.bytes = all.bytes.subspan(0, all.bytes.size() / static_cast<std::size_t>(all.shape[0]));
  return weight;
}

/// make(which, the name without its ending) of every expert and part, into `tensors`.
template <typename Make>
void for_each_part(NamedWeights& tensors, const std::string& base, const JoinedKind& kind, std::int64_t experts,
                   Make&& make) {
  for (std::int64_t expert = 0; expert < experts; ++expert) {
    for (std::size_t part = 0; part < kind.parts.size(); ++part) {
      const std::string name = fmt::format("{}{}.{}", base, expert, kind.parts[part]);
      Weight weight = make(ExpertPart{expert, static_cast<std::int64_t>(part), std::ssize(kind.parts)}, name);
      tensors[weight.name] = std::move(weight);
    }
  }
}

void split_floats(NamedWeights& tensors, const Weight& all, const std::string& base, const JoinedKind& kind) {
  for_each_part(tensors, base, kind, all.shape[0], [&](const ExpertPart& which, const std::string& name) {
    const bool is_bias = all.shape.size() == 2;
    const Shape shape = is_bias ? Shape{kind.out} : Shape{kind.out, kind.in};
    Weight weight = split_weight(all, name + (is_bias ? ".bias" : ".weight"), shape);
    weight.load = [all, kind, which, shape] { return read_floats(all, kind, which, shape); };
    return weight;
  });
}

void split_codes(NamedWeights& tensors, const Weight& blocks, const Weight& scales, const std::string& base,
                 const JoinedKind& kind) {
  for_each_part(tensors, base, kind, blocks.shape[0], [&](const ExpertPart& which, const std::string& name) {
    Weight weight = split_weight(blocks, name + ".weight", {kind.out, kind.in});
    weight.stored = "MXFP4";
    weight.is_coded = false;
    weight.load = [blocks, scales, kind, which] { return widened(read_codes(blocks, scales, kind, which)); };
    const CodedFormat* format = coded_format(Codes::mxfp4, Zero::middle, DType::f32, 32, kind.in);
    if (format == nullptr) return weight;
    weight.blocks = format->blocks;
    weight.load_blocks = [blocks, scales, kind, which, format] {
      return laid(read_codes(blocks, scales, kind, which), *format);
    };
    return weight;
  });
}

/// The names of one kind's tensors in all layers, without `ending`.
std::vector<std::string> bases_with(const NamedWeights& tensors, const std::string& ending) {
  std::vector<std::string> bases;
  for (const auto& [name, weight] : tensors) {
    if (name.ends_with(".experts." + ending)) bases.push_back(name.substr(0, name.size() - ending.size()));
  }
  return bases;
}

void split_kind(NamedWeights& tensors, const JoinedKind& kind, std::int64_t experts) {
  for (const auto& [ending, shape] : {std::pair(kind.ending, Shape{experts, kind.in, kind.columns()}),
                                      std::pair(kind.ending + "_bias", Shape{experts, kind.columns()})}) {
    for (const std::string& base : bases_with(tensors, ending)) {
      const Weight all = tensors.extract(base + ending).mapped();
      check_shape(all, shape, nullptr);
      (void)float_dtype(all);
      split_floats(tensors, all, base, kind);
    }
  }
  for (const std::string& base : bases_with(tensors, kind.ending + "_blocks")) {
    const std::string scales_name = base + kind.ending + "_scales";
    const Weight blocks = tensors.extract(base + kind.ending + "_blocks").mapped();
    if (tensors.count(scales_name) == 0) fail_part(blocks, fmt::format("lacks '{}' beside it", scales_name));
    const Weight scales = tensors.extract(scales_name).mapped();
    const std::int64_t groups = kind.in / 32;
    check_shape(blocks, {experts, kind.columns(), groups, 16}, "U8");
    check_shape(scales, {experts, kind.columns(), groups}, "U8");
    if (groups * 32 != kind.in) fail_part(blocks, fmt::format("has no whole groups of {} inputs", kind.in));
    split_codes(tensors, blocks, scales, base, kind);
  }
}

}  // namespace

void split_experts(NamedWeights& tensors, const ModelConfig& config) {
  for (const JoinedKind& kind : kinds_of(config)) split_kind(tensors, kind, config.experts);
}

}  // namespace assay
