#include "model/quantised_layouts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "model/bitsandbytes.h"

// W[n][k] = (code - zero point) * scale, W: (out, in). Codes of less than 8 bits lie in 32-bit words, the first in the
// lowest bits, or two in a byte. G groups of inputs; of a format that says so, g_idx[k] is the group of input k.
//
//   fp8                     weight F8_E4M3 (out, in); weight_scale_inv of blocks, or weight_scale
//   compressed-tensors      weight_scale (out, G), (out, 1) or one
//     float-quantized       weight F8_E4M3 (out, in)
//     int-quantized         weight I8 (out, in); weight_zero_point I8 like the scale
//     naive-quantized       either
//     pack-quantized        weight_packed I32 (out, words of in codes), each code + 2^(bits - 1), codes across words;
//                           weight_zero_point I32 (words of out codes, G), as the codes; weight_shape; weight_g_idx
//     nvfp4-pack-quantized  weight_packed U8 (out, in / 2), the first code of two in the low bits; weight_scale
//                           F8_E4M3 (out, in / 16), divided by weight_global_scale F32
//     mxfp4-pack-quantized  weight_packed as there; weight_scale U8 (out, in / 32), e8m0
//   gptq                    qweight I32 (in * bits / 32, out), qzeros I32 (G, out * bits / 32), scales (G, out), g_idx
//   awq (gemm)              qweight I32 (in, out / 8), qzeros I32 (G, out / 8), scales (G, out); of eight outputs in a
//                           word the lowest bits hold 0, 2, 4, 6, 1, 3, 5, 7
//
// Read in the sources of compressed-tensors 0.20, transformers 5 (fp8), AutoGPTQ and AutoAWQ.
namespace assay {
namespace {

using LayoutMethod = StoredQuantisation::Method;

/// `bits` of a row of 32-bit words from bit `first` on; they may lie across two words.
std::int32_t field(const std::byte* words, std::int64_t first, std::int64_t bits) {
  std::uint64_t two = 0;
  const std::int64_t word = first / 32;
  const bool is_across = first % 32 + bits > 32;
  std::memcpy(&two, words + word * 4, is_across ? 8 : 4);
  return static_cast<std::int32_t>((two >> (first % 32)) & ((std::uint64_t{1} << bits) - 1));
}

/// The rows of a matrix as bytes.
struct ByteRows {
  const std::byte* data;
  std::int64_t stride;

  explicit ByteRows(const Weight& weight)
      : data(weight.bytes.data()), stride(std::ssize(weight.bytes) / std::max<std::int64_t>(weight.shape[0], 1)) {}
  const std::byte* operator[](std::int64_t row) const { return data + row * stride; }
};

std::int64_t words_of(std::int64_t codes, std::int64_t bits) {
  return pieces(codes * bits, 32);
}

std::int64_t groups_in(std::int64_t in, std::int64_t group) {
  return group > 0 ? pieces(in, group) : 1;
}

/// Integers of up to four bits are held as they are, less a zero point of up to 16; wider ones with a sign.
struct IntCodes {
  Codes codes;
  std::int32_t shift;  ///< Added to what the file holds, zero points too.

  /// `middle`: what stands for zero where no zero point is stored.
  static IntCodes of(std::int64_t bits, Zero zero) {
    const std::int32_t middle = 1 << (bits - 1);
    if (bits > 4) return {Codes::int8, -middle};
    return {Codes::int4, zero == Zero::middle ? 8 - middle : 0};
  }
  std::int16_t zero() const { return codes == Codes::int4 ? 8 : 0; }
};

/// The columns of scales by input, checked; empty where they are in order.
std::vector<std::int32_t> group_list(const Weight* weight, std::int64_t in, std::int64_t group, std::int64_t groups) {
  if (weight == nullptr) return {};
  check_shape(*weight, {in}, "I32");
  std::vector<std::int32_t> all(static_cast<std::size_t>(in));
  std::memcpy(all.data(), weight->bytes.data(), all.size() * 4);
  if (std::any_of(all.begin(), all.end(), [&](std::int32_t one) { return one < 0 || one >= groups; }))
    fail_part(*weight, fmt::format("names a group that is none of {}", groups));
  const auto is_in_order = [&, k = std::int64_t{0}](std::int32_t one) mutable { return one == k++ / group; };
  return std::all_of(all.begin(), all.end(), is_in_order) ? std::vector<std::int32_t>() : all;
}

/// The widest format where inputs of a group stand together.
const CodedFormat* format_of(const CodedMatrix& m, Zero zero, const Weight& scales) {
  if (!m.group_of.empty()) return nullptr;
  // Eight bits less a zero point are a product less a product, which are exact of scales of 16 bits only.
  if (m.codes == Codes::int8 && zero == Zero::stored && scales.stored == "F32") return nullptr;
  const bool is_int = m.codes == Codes::int4 || m.codes == Codes::int8;
  const std::int64_t group = m.scale_columns == 1 ? m.in : m.columns_a_scale;
  return coded_format(m.codes, zero, is_int ? scale_dtype(scales) : DType::f32, group, m.in);
}

/// Scales of (out or 1, groups or 1), or one in all, or of blocks.
CodedMatrix grid_of(const Weight& scales, std::int64_t out, std::int64_t in, const StoredQuantisation& q) {
  CodedMatrix m{.out = out, .in = in};
  const std::int64_t count = element_count(scales.shape);
  const std::int64_t rows = count == 1 ? 1 : scales.shape[0];
  m.scale_columns = count == 1 || scales.shape.size() < 2 ? 1 : scales.shape[1];
  const bool is_blocks = q.block_rows > 0 && rows > 1 && rows != out;
  m.rows_a_scale = is_blocks ? q.block_rows : rows == 1 ? std::max<std::int64_t>(out, 1) : 1;
  m.columns_a_scale = q.block_columns > 0 ? q.block_columns : q.group;
  if (m.scale_columns == 1 || m.columns_a_scale == 0) m.columns_a_scale = std::max<std::int64_t>(in, 1);
  const bool fits = scales.shape.size() <= 2 && rows * m.scale_columns == count &&
                    rows == pieces(out, m.rows_a_scale) && m.scale_columns == pieces(in, m.columns_a_scale);
  if (!fits)
    fail_part(scales, fmt::format("has shape {}, which scales no weight of {}", to_string(scales.shape),
                                  to_string(Shape{out, in})));
  return m;
}

/// Some files have zero points of floats, which are nothing.
void check_no_zeros(const Weight& zeros) {
  if (std::any_of(zeros.bytes.begin(), zeros.bytes.end(), [](std::byte byte) { return byte != std::byte{0}; }))
    fail_part(zeros, "are zero points, which floats do not have");
}

Joined join_whole(const KeptParts& parts, const StoredQuantisation& q) {
  const Weight& codes = parts->need(Part::codes);
  const Weight& scales = parts->need(Part::scales);
  const Weight* zeros = parts->find(Part::zeros);
  if (codes.shape.size() != 2) fail_part(codes, "is no matrix");
  const bool is_int = codes.stored == "I8";
  if (!is_int && codes.stored != "F8_E4M3") fail_part(codes, "is neither F8_E4M3 nor I8");
  if (zeros != nullptr && !is_int) check_no_zeros(*zeros);
  if (zeros != nullptr && is_int) check_shape(*zeros, scales.shape, "I8");
  CodedMatrix m = grid_of(scales, codes.shape[0], codes.shape[1], q);
  m.codes = is_int ? Codes::int8 : Codes::e4m3;
  const std::string kind = is_int ? fmt::format("int{}", q.bits) : codes.stored;
  const auto matrix = [parts, m] {
    CodedMatrix read = m;
    read.scales = floats_of(parts->need(Part::scales));
    if (const Weight* stored = parts->find(Part::zeros); stored != nullptr && m.codes == Codes::int8) {
      for (const std::uint8_t zero : bytes_of(*stored)) read.zeros.push_back(static_cast<std::int8_t>(zero));
    }
    read.read = codes_as_bytes(parts, m.in);
    return read;
  };
  return {codes.shape, title_of(kind, q.block_columns > 0 ? q.block_columns : q.group), matrix,
          format_of(m, zeros == nullptr || !is_int ? Zero::middle : Zero::stored, scales)};
}

/// (out, in), as a tensor of two integers says.
Shape said_shape(const Weight& weight) {
  const std::size_t size = weight.stored == "I64" ? 8 : weight.stored == "I32" ? 4 : 0;
  if (size == 0 || weight.shape != Shape{2} || weight.bytes.size() != 2 * size)
    fail_part(weight, "is no shape of a matrix");
  std::int64_t two[2] = {0, 0};
  for (std::size_t i = 0; i < 2; ++i) std::memcpy(&two[i], weight.bytes.data() + i * size, size);
  if (two[0] < 1 || two[1] < 1 || two[0] > (1 << 30) || two[1] > (1 << 30))
    fail_part(weight, "is no shape of a matrix");
  return {two[0], two[1]};
}

/// Zero points as compressed-tensors packs them: along the outputs, words of one group a row of groups apart.
std::vector<std::int16_t> packed_zeros(const Weight& weight, const CodedMatrix& m, std::int64_t bits,
                                       std::int32_t shift) {
  std::vector<std::int16_t> zeros(static_cast<std::size_t>(m.out * m.scale_columns));
  for (std::int64_t n = 0; n < m.out; ++n) {
    const std::int64_t bit = n * bits;
    for (std::int64_t column = 0; column < m.scale_columns; ++column) {
      std::uint32_t words[2] = {0, 0};
      for (std::int64_t i = 0; i < (bit % 32 + bits > 32 ? 2 : 1); ++i)
        std::memcpy(&words[i], weight.bytes.data() + ((bit / 32 + i) * m.scale_columns + column) * 4, 4);
      const auto* both = reinterpret_cast<const std::byte*>(words);
      zeros[static_cast<std::size_t>(n * m.scale_columns + column)] =
          static_cast<std::int16_t>(field(both, bit % 32, bits) + shift);
    }
  }
  return zeros;
}

Joined join_packed(const KeptParts& parts, const StoredQuantisation& q) {
  const Weight& codes = parts->need(Part::codes);
  const Weight& scales = parts->need(Part::scales);
  const Weight* zeros = parts->find(Part::zeros);
  const Shape whole = said_shape(parts->need(Part::shape));
  check_shape(codes, {whole[0], words_of(whole[1], q.bits)}, "I32");
  if (scales.shape.size() != 2 && element_count(scales.shape) != 1)
    fail_part(scales, "has neither two axes nor one entry");
  CodedMatrix m = grid_of(scales, whole[0], whole[1], q);
  if (zeros != nullptr) check_shape(*zeros, {words_of(whole[0], q.bits), m.scale_columns}, "I32");
  const Zero zero = zeros == nullptr ? Zero::middle : Zero::stored;
  const IntCodes ints = IntCodes::of(q.bits, zero);
  m.codes = ints.codes;
  m.zero = ints.zero();
  m.group_of = group_list(parts->find(Part::groups), m.in, m.columns_a_scale, m.scale_columns);
  const auto matrix = [parts, m, bits = q.bits, shift = ints.shift] {
    CodedMatrix read = m;
    read.scales = floats_of(parts->need(Part::scales));
    if (const Weight* stored = parts->find(Part::zeros)) read.zeros = packed_zeros(*stored, m, bits, shift);
    read.read = [parts, in = m.in, bits, shift](std::int64_t first, std::int64_t rows, std::uint8_t* to) {
      const ByteRows words(parts->need(Part::codes));
      for (std::int64_t n = first; n < first + rows; ++n) {
        for (std::int64_t k = 0; k < in; ++k)
          *to++ = static_cast<std::uint8_t>(field(words[n], k * bits, bits) + shift);
      }
    };
    return read;
  };
  return {whole, title_of(fmt::format("packed int{}", q.bits), q.group), matrix, format_of(m, zero, scales)};
}

/// Floats of four bits, two in a byte. `scale_of`: the f32 scale of the bits of a scale and the one for all.
struct Float4 {
  Codes codes;
  const char* title;
  const char* scale_stored;
  std::int64_t group;
  float (*scale_of)(std::uint8_t bits, float global);
};
constexpr Float4 float4_kinds[] = {
    {Codes::nvfp4, "NVFP4", "F8_E4M3", 16, [](std::uint8_t bits, float global) { return e4m3_values[bits] / global; }},
    {Codes::mxfp4, "MXFP4", "U8", 32, [](std::uint8_t bits, float) { return e8m0_value(bits); }},
};

CodedMatrix float4_matrix(const KeptParts& parts, const CodedMatrix& m, const Float4& kind) {
  CodedMatrix read = m;
  const Weight& scales = parts->need(Part::scales);
  if (const Weight* global = parts->find(Part::global)) read.global = floats_of(*global)[0];
  read.scale_bits = bytes_of(scales);
  for (const std::uint8_t bits : read.scale_bits) read.scales.push_back(kind.scale_of(bits, read.global));
  if (!std::all_of(read.scales.begin(), read.scales.end(), [](float scale) { return std::isfinite(scale); }))
    fail_part(scales, "holds NaN or infinite scales");
  read.read = [parts, in = m.in](std::int64_t first, std::int64_t rows, std::uint8_t* to) {
    split_bytes(parts->need(Part::codes).bytes.data() + first * in / 2, rows * in, to);
  };
  return read;
}

Joined join_float4(const KeptParts& parts, const Float4& kind) {
  const Weight& codes = parts->need(Part::codes);
  if (codes.shape.size() != 2 || codes.stored != "U8") fail_part(codes, "is no matrix of U8");
  CodedMatrix m{.out = codes.shape[0], .in = codes.shape[1] * 2, .codes = kind.codes};
  m.columns_a_scale = kind.group;
  m.scale_columns = pieces(m.in, kind.group);
  check_shape(parts->need(Part::scales), {m.out, m.scale_columns}, kind.scale_stored);
  if (const Weight* global = parts->find(Part::global); global != nullptr && element_count(global->shape) != 1)
    fail_part(*global, "is not one scale");
  if (const Weight* zeros = parts->find(Part::zeros)) check_no_zeros(*zeros);
  return {{m.out, m.in},
          kind.title,
          [parts, m, &kind] { return float4_matrix(parts, m, kind); },
          coded_format(kind.codes, Zero::middle, DType::f32, kind.group, m.in)};
}

Joined join_nvfp4(const KeptParts& parts, const StoredQuantisation&) {
  parts->need(Part::global);
  return join_float4(parts, float4_kinds[0]);
}

Joined join_mxfp4(const KeptParts& parts, const StoredQuantisation&) {
  return join_float4(parts, float4_kinds[1]);
}

/// (G, out), as GPTQ and AWQ have scales and zero points, turned to (out, G).
template <typename T>
std::vector<T> turned(const std::vector<T>& stored, std::int64_t groups, std::int64_t out) {
  std::vector<T> result(stored.size());
  for (std::int64_t g = 0; g < groups; ++g) {
    for (std::int64_t n = 0; n < out; ++n)
      result[static_cast<std::size_t>(n * groups + g)] = stored[static_cast<std::size_t>(g * out + n)];
  }
  return result;
}

/// How a word of GPTQ's and AWQ's has codes.
struct WordOrder {
  std::int64_t bits;
  bool of_awq;
  std::int32_t shift;  ///< Added to what the file holds.

  /// Where code i begins.
  std::int64_t bit(std::int64_t i) const {
    constexpr std::int64_t awq_place[] = {0, 4, 1, 5, 2, 6, 3, 7};
    return of_awq ? i / 8 * 32 + awq_place[i % 8] * bits : i * bits;
  }
};

/// Zero points (G, words of outputs), turned.
std::vector<std::int16_t> word_zeros(const Weight& weight, const CodedMatrix& m, const WordOrder& order,
                                     const StoredQuantisation& q) {
  const ByteRows words(weight);
  const std::int32_t mask = (1 << q.bits) - 1;
  std::vector<std::int16_t> zeros;
  for (std::int64_t g = 0; g < m.scale_columns; ++g) {
    for (std::int64_t n = 0; n < m.out; ++n) {
      const std::int32_t stored = field(words[g], order.bit(n), q.bits);
      zeros.push_back(static_cast<std::int16_t>((q.zeros_less_one ? (stored + 1) & mask : stored) + order.shift));
    }
  }
  return turned(zeros, m.scale_columns, m.out);
}

/// GPTQ packs codes of inputs, AWQ those of outputs.
void read_words(const Weight& weight, const CodedMatrix& m, const WordOrder& order, std::int64_t first,
                std::int64_t rows, std::uint8_t* to) {
  const ByteRows words(weight);
  const std::int64_t codes = 32 / order.bits;
  for (std::int64_t k = 0; k < m.in; ++k) {
    const std::byte* row = words[order.of_awq ? k : k / codes];
    for (std::int64_t n = 0; n < rows; ++n) {
      const std::int64_t bit = order.of_awq ? order.bit(first + n) : (first + n) * 32 + order.bit(k % codes);
      to[n * m.in + k] = static_cast<std::uint8_t>(field(row, bit, order.bits) + order.shift);
    }
  }
}

Joined join_words(const KeptParts& parts, const StoredQuantisation& q) {
  const bool of_awq = q.method == LayoutMethod::awq;
  const Weight& codes = parts->need(Part::codes);
  if (codes.shape.size() != 2 || codes.stored != "I32") fail_part(codes, "is no matrix of I32");
  const std::int64_t each = 32 / q.bits;
  const IntCodes ints = IntCodes::of(q.bits, Zero::stored);
  CodedMatrix m{
      .out = codes.shape[1] * (of_awq ? each : 1), .in = codes.shape[0] * (of_awq ? 1 : each), .codes = ints.codes};
  m.columns_a_scale = q.group > 0 ? q.group : std::max<std::int64_t>(m.in, 1);
  m.scale_columns = groups_in(m.in, q.group);
  check_shape(parts->need(Part::scales), {m.scale_columns, m.out}, nullptr);
  check_shape(parts->need(Part::zeros), {m.scale_columns, words_of(m.out, q.bits)}, "I32");
  m.group_of = group_list(parts->find(Part::groups), m.in, m.columns_a_scale, m.scale_columns);
  const WordOrder order = {q.bits, of_awq, ints.shift};
  const auto matrix = [parts, m, q, order] {
    CodedMatrix read = m;
    read.scales = turned(floats_of(parts->need(Part::scales)), m.scale_columns, m.out);
    read.zeros = word_zeros(parts->need(Part::zeros), m, order, q);
    read.read = [parts, m, order](std::int64_t first, std::int64_t rows, std::uint8_t* to) {
      read_words(parts->need(Part::codes), m, order, first, rows, to);
    };
    return read;
  };
  return {{m.out, m.in},
          title_of(fmt::format("{} int{}", of_awq ? "AWQ" : "GPTQ", q.bits), q.group),
          matrix,
          format_of(m, Zero::stored, parts->need(Part::scales))};
}

/// By name, so that a row says no more than a method has.
struct Endings {
  const char* codes = nullptr;
  const char* scales = nullptr;
  const char* zeros = nullptr;
  const char* groups = nullptr;
  const char* shape = nullptr;
  const char* global = nullptr;
  const char* table = nullptr;
  const char* nested_scales = nullptr;
  const char* nested_table = nullptr;
  const char* state = nullptr;
  const char* order = nullptr;

  constexpr operator PartEndings() const {  // NOLINT(google-explicit-constructor): rows read better.
    return {codes, scales, zeros, groups, shape, global, table, nested_scales, nested_table, state, order};
  }
};
constexpr Endings whole = {.codes = ".weight", .scales = ".weight_scale", .zeros = ".weight_zero_point"};
constexpr Endings four_bits = {.codes = ".weight_packed",
                               .scales = ".weight_scale",
                               .zeros = ".weight_zero_point",
                               .global = ".weight_global_scale"};
constexpr Endings packed = {.codes = ".weight_packed",
                            .scales = ".weight_scale",
                            .zeros = ".weight_zero_point",
                            .groups = ".weight_g_idx",
                            .shape = ".weight_shape"};
constexpr Endings in_words = {.codes = ".qweight", .scales = ".scales", .zeros = ".qzeros", .groups = ".g_idx"};
constexpr Endings bitsandbytes_codes(const char* state) {
  return {.codes = ".weight",
          .scales = ".weight.absmax",
          .table = ".weight.quant_map",
          .nested_scales = ".weight.nested_absmax",
          .nested_table = ".weight.nested_quant_map",
          .state = state};
}

constexpr StoredLayout layouts[] = {
    {LayoutMethod::fp8, "", Endings{.codes = ".weight", .scales = ".weight_scale_inv"}, Part::scales, join_whole},
    {LayoutMethod::fp8, "", Endings{.codes = ".weight", .scales = ".weight_scale"}, Part::scales, join_whole},
    {LayoutMethod::compressed_tensors, "float-quantized", whole, Part::scales, join_whole},
    {LayoutMethod::compressed_tensors, "int-quantized", whole, Part::scales, join_whole},
    {LayoutMethod::compressed_tensors, "naive-quantized", whole, Part::scales, join_whole},
    {LayoutMethod::compressed_tensors, "pack-quantized", packed, Part::scales, join_packed},
    {LayoutMethod::compressed_tensors, "nvfp4-pack-quantized", four_bits, Part::scales, join_nvfp4},
    {LayoutMethod::compressed_tensors, "mxfp4-pack-quantized", four_bits, Part::scales, join_mxfp4},
    {LayoutMethod::gptq, "", in_words, Part::scales, join_words},
    {LayoutMethod::awq, "", in_words, Part::scales, join_words},
    {LayoutMethod::bitsandbytes, "", bitsandbytes_codes(".weight.quant_state.bitsandbytes__nf4"), Part::state,
     join_nf4},
    {LayoutMethod::bitsandbytes, "", bitsandbytes_codes(".weight.quant_state.bitsandbytes__fp4"), Part::state,
     join_fp4},
    {LayoutMethod::bitsandbytes, "", Endings{.codes = ".weight", .scales = ".SCB", .order = ".weight_format"},
     Part::scales, join_llm_int8},
};

}  // namespace

std::span<const StoredLayout> stored_layouts() {
  return layouts;
}

}  // namespace assay
