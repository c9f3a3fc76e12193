#include "model/bitsandbytes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/json.h"
#include "model/config_reader.h"

namespace assay {
namespace {

/// What the JSON text beside a weight says.
struct CodeState {
  Shape shape;
  std::int64_t block = 0;
  std::int64_t nested_block = 0;  ///< 0: scales are floats.
  float nested_offset = 0;
};

constexpr RealRange offset_range = {"what is added to scales", -1e30, 1e30};

Shape shape_in(const ConfigReader& in) {
  const Json& shape = in.has("shape") ? in.json().at("shape") : Json();
  Shape result;
  for (const Json& size : shape.is_array() ? shape : Json::array()) {
    const bool is_size = size.is_number_integer() && size > 0 && size <= (1 << 30);
    result.push_back(is_size ? size.get<std::int64_t>() : 0);
  }
  if (result.size() != 2 || result[0] * result[1] == 0) fail_user("{}: 'shape' is no shape of a matrix", in.file());
  return result;
}

std::int64_t block_in(const ConfigReader& in, const char* key) {
  const std::int64_t block = in.count(key);
  if (block < 32 || block > 4096 || (block & (block - 1)) != 0)
    fail_user("{}: '{}' is {}, a power of two between 32 and 4096 is needed", in.file(), key, block);
  return block;
}

CodeState read_state(const Parts& parts, const char* type) {
  const Weight& text = parts.need(Part::state);
  check_shape(text, {std::ssize(text.bytes)}, "U8");
  if (text.bytes.size() > 65'536) fail_part(text, "is no short text");
  const std::string name = fmt::format("{}: tensor '{}'", text.file, text.checkpoint_name);
  const Json json = parse_json({reinterpret_cast<const char*>(text.bytes.data()), text.bytes.size()}, name);
  const ConfigReader in(json, name);
  if (in.text_or("quant_type", "") != type) fail_user("{}: 'quant_type' is not {}", name, type);
  CodeState state{.shape = shape_in(in), .block = block_in(in, "blocksize")};
  if (parts.find(Part::nested_scales) == nullptr) return state;
  state.nested_block = block_in(in, "nested_blocksize");
  if (!in.has("nested_offset")) fail_user("{}: 'nested_offset' is missing", name);
  state.nested_offset = static_cast<float>(in.real_or("nested_offset", 0, offset_range));
  return state;
}

/// The table that the package uses is its own; what stands in the file must be that.
void check_table(const Weight& table, Codes codes) {
  const std::span<const float> own = values_of(codes);
  check_shape(table, {std::ssize(own)}, "F32");
  const std::vector<float> stored = floats_of(table);
  const auto is_near = [](float a, float b) { return std::abs(a - b) <= 1e-6F; };
  if (!std::equal(own.begin(), own.end(), stored.begin(), is_near)) fail_part(table, "is not the table of its type");
}

void check_scales(const Parts& parts, const CodeState& state) {
  const Weight& scales = parts.need(Part::scales);
  const std::int64_t count = pieces(state.shape[0] * state.shape[1], state.block);
  const bool is_nested = state.nested_block > 0;
  check_shape(scales, {count}, is_nested ? "U8" : "F32");
  if (!is_nested) return;
  check_shape(parts.need(Part::nested_scales), {pieces(count, state.nested_block)}, "F32");
  check_shape(parts.need(Part::nested_table), {256}, "F32");
}

std::vector<float> scales_of(const Parts& parts, const CodeState& state) {
  const Weight& scales = parts.need(Part::scales);
  if (state.nested_block == 0) return floats_of(scales);
  const std::vector<float> table = floats_of(parts.need(Part::nested_table));
  const std::vector<float> nested = floats_of(parts.need(Part::nested_scales));
  std::vector<float> all;
  for (const std::uint8_t code : bytes_of(scales)) {
    const float product = table[code] * nested[all.size() / static_cast<std::size_t>(state.nested_block)];
    all.push_back(product + state.nested_offset);
  }
  if (!std::all_of(all.begin(), all.end(), [](float scale) { return std::isfinite(scale); }))
    fail_part(scales, "holds NaN or infinite scales");
  return all;
}

void read_flowing(const Weight& weight, std::int64_t first, std::int64_t count, std::uint8_t* to) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(weight.bytes.data());
  for (std::int64_t i = first; i < first + count; ++i) *to++ = i % 2 == 0 ? bytes[i / 2] >> 4 : bytes[i / 2] & 0x0F;
}

Joined join_codes(const KeptParts& parts, Codes codes, const char* type) {
  const Weight& weight = parts->need(Part::codes);
  const CodeState state = read_state(*parts, type);
  CodedMatrix m{.out = state.shape[0], .in = state.shape[1], .codes = codes};
  m.order = CodedMatrix::Order::flowing;
  m.columns_a_scale = state.block;
  if (std::ssize(weight.bytes) != pieces(m.out * m.in, 2))
    fail_part(weight, fmt::format("has {} bytes, its state of {} asks for {}", weight.bytes.size(),
                                  to_string(state.shape), pieces(m.out * m.in, 2)));
  check_scales(*parts, state);
  if (const Weight* table = parts->find(Part::table)) check_table(*table, codes);
  const auto matrix = [parts, m, state] {
    CodedMatrix read = m;
    read.scales = scales_of(*parts, state);
    read.read = [parts, in = m.in](std::int64_t first, std::int64_t rows, std::uint8_t* to) {
      read_flowing(parts->need(Part::codes), first * in, rows * in, to);
    };
    return read;
  };
  return {state.shape, title_of(type, state.block), matrix,
          coded_format(codes, Zero::middle, DType::f32, state.block, m.in)};
}

}  // namespace

Joined join_nf4(const KeptParts& parts, const StoredQuantisation&) {
  return join_codes(parts, Codes::nf4, "nf4");
}

Joined join_fp4(const KeptParts& parts, const StoredQuantisation&) {
  return join_codes(parts, Codes::fp4, "fp4");
}

Joined join_llm_int8(const KeptParts& parts, const StoredQuantisation&) {
  const Weight& codes = parts->need(Part::codes);
  if (codes.shape.size() != 2 || codes.stored != "I8") fail_part(codes, "is no matrix of I8");
  check_shape(parts->need(Part::scales), {codes.shape[0]}, "F32");
  const Weight* order = parts->find(Part::order);
  if (order != nullptr &&
      std::any_of(order->bytes.begin(), order->bytes.end(), [](std::byte b) { return b != std::byte{0}; }))
    fail_part(*order, "says that codes lie otherwise than row by row");
  CodedMatrix m{.out = codes.shape[0], .in = codes.shape[1], .codes = Codes::int8};
  m.columns_a_scale = std::max<std::int64_t>(m.in, 1);
  m.factor = 7.874015718698502e-3F;  // The package's 1 / 127.
  const auto matrix = [parts, m] {
    CodedMatrix read = m;
    read.scales = floats_of(parts->need(Part::scales));
    read.read = codes_as_bytes(parts, m.in);
    return read;
  };
  return {codes.shape, "LLM.int8", matrix, nullptr};
}

}  // namespace assay
