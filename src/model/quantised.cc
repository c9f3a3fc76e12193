#include "model/quantised.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "base/printable.h"
#include "base/threads.h"
#include "model/config_reader.h"

// W[n][k] = (code - zero point) * scale, W: (out, in). Codes of less than 8 bits lie in 32-bit words, the first in the
// lowest bits. G groups of inputs; of a format that says so, g_idx[k] is the group of input k.
//
//   fp8                     weight F8_E4M3 (out, in); weight_scale_inv of blocks, or weight_scale
//   compressed-tensors      weight_scale (out, G), (out, 1) or one
//     float-quantized       weight F8_E4M3 (out, in)
//     int-quantized         weight I8 (out, in); weight_zero_point I8 like the scale
//     pack-quantized        weight_packed I32 (out, words of in codes), each code + 2^(bits - 1), codes across words;
//                           weight_zero_point I32 (words of out codes, G), as the codes; weight_shape; weight_g_idx
//   gptq                    qweight I32 (in * bits / 32, out), qzeros I32 (G, out * bits / 32), scales (G, out), g_idx
//   awq (gemm)              qweight I32 (in, out / 8), qzeros I32 (G, out / 8), scales (G, out); of eight outputs in a
//                           word the lowest bits hold 0, 2, 4, 6, 1, 3, 5, 7
//
// Read in the sources of compressed-tensors 0.20, transformers 5 (fp8), AutoGPTQ and AutoAWQ.
namespace assay {
namespace {

using Method = StoredQuantisation::Method;
using Tensors = std::map<std::string, Weight>;

/// The tensors of one weight; null where it has none of that kind.
struct CodeParts {
  const Weight* codes = nullptr;
  const Weight* scales = nullptr;
  const Weight* zeros = nullptr;
  const Weight* groups = nullptr;
};

/// Everything but its parts that the loop over a weight needs.
struct Matrix {
  std::int64_t out = 0;
  std::int64_t in = 0;
  std::int64_t rows_a_scale = 1;
  std::int64_t columns_a_scale = 1;
  std::vector<float> scales = {};  ///< (scale_rows, scale_columns), by outputs and inputs
  std::int64_t scale_columns = 1;
  std::vector<std::int32_t> group_of = {};  ///< Of an input; empty: in order.

  std::int64_t column_of(std::int64_t k) const {
    return group_of.empty() ? k / columns_a_scale : group_of[static_cast<std::size_t>(k)];
  }
  std::size_t place(std::int64_t n, std::int64_t column) const {
    return static_cast<std::size_t>(n / rows_a_scale * scale_columns + column);
  }
};

[[noreturn]] void fail_part(const Weight& weight, const std::string& what) {
  fail_user("{}: tensor '{}' {}", weight.file, weight.checkpoint_name, what);
}

void check_shape(const Weight& weight, const Shape& wanted, const char* stored) {
  if (weight.shape != wanted || (stored != nullptr && weight.stored != stored))
    fail_part(weight, fmt::format("is {} {}, its quantisation asks for {} {}", weight.stored, to_string(weight.shape),
                                  stored == nullptr ? "" : stored, to_string(wanted)));
}

std::vector<float> floats_of(const Weight& weight) {
  const WeightData data = weight.load();
  const auto* values = data.view.as<float>();
  std::vector<float> all(values, values + data.view.count());
  if (!std::all_of(all.begin(), all.end(), [](float value) { return std::isfinite(value); }))
    fail_part(weight, "holds NaN or infinite scales");
  return all;
}

std::vector<std::int32_t> groups_of(const Weight& weight, std::int64_t in, std::int64_t groups) {
  check_shape(weight, {in}, "I32");
  std::vector<std::int32_t> all(static_cast<std::size_t>(in));
  std::memcpy(all.data(), weight.bytes.data(), all.size() * 4);
  if (std::any_of(all.begin(), all.end(), [&](std::int32_t group) { return group < 0 || group >= groups; }))
    fail_part(weight, fmt::format("names a group that is none of {}", groups));
  return all;
}

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
      : data(weight.bytes.data()), stride(std::ssize(weight.bytes) / weight.shape[0]) {}
  const std::byte* operator[](std::int64_t row) const { return data + row * stride; }
};

/// code(n, k) and zero(n, column of scales) of every element. Rows go a few at a time, for some layouts have outputs
/// beside one another.
template <typename Code, typename Zero>
WeightData widened(const Matrix& m, Code code, Zero zero) {
  constexpr std::int64_t at_once = 16;
  WeightData data{{}, Tensor(DType::f32, {m.out, m.in})};
  auto* const values = data.owned.as<float>();
  parallel_for((m.out + at_once - 1) / at_once, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = 0; k < m.in; ++k) {
      const std::int64_t column = m.column_of(k);
      for (std::int64_t n = begin * at_once; n < std::min(m.out, end * at_once); ++n)
        values[n * m.in + k] = static_cast<float>(code(n, k) - zero(n, column)) * m.scales[m.place(n, column)];
    }
  });
  data.view = data.owned.view();
  return data;
}

std::int64_t words_of(std::int64_t codes, std::int64_t bits) {
  return (codes * bits + 31) / 32;
}

std::int64_t groups_in(std::int64_t in, std::int64_t group) {
  return group > 0 ? (in + group - 1) / group : 1;
}

/// Scales of (out or 1, groups or 1), or one in all, or of blocks.
Matrix with_scales(const Weight& scales, std::int64_t out, std::int64_t in, const StoredQuantisation& q) {
  Matrix m{.out = out, .in = in};
  const std::int64_t count = element_count(scales.shape);
  const std::int64_t rows = count == 1 ? 1 : scales.shape[0];
  m.scale_columns = count == 1 || scales.shape.size() < 2 ? 1 : scales.shape[1];
  const bool is_blocks = q.block_rows > 0 && rows > 1 && rows != out;
  m.rows_a_scale = is_blocks ? q.block_rows : rows == 1 ? std::max<std::int64_t>(out, 1) : 1;
  m.columns_a_scale = q.block_columns > 0 ? q.block_columns : q.group > 0 ? q.group : in;
  if (m.scale_columns == 1) m.columns_a_scale = std::max<std::int64_t>(in, 1);
  const bool fits = scales.shape.size() <= 2 && rows * m.scale_columns == count &&
                    rows == groups_in(out, m.rows_a_scale) && m.scale_columns == groups_in(in, m.columns_a_scale);
  if (!fits)
    fail_part(scales, fmt::format("has shape {}, which scales no weight of {}", to_string(scales.shape),
                                  to_string(Shape{out, in})));
  m.scales = floats_of(scales);
  return m;
}

WeightData load_fp8(const CodeParts& p, const Matrix& m) {
  const auto* codes = reinterpret_cast<const e4m3*>(p.codes->bytes.data());
  return widened(
      m, [&](std::int64_t n, std::int64_t k) { return to_f32(codes[n * m.in + k]); },
      [](std::int64_t, std::int64_t) { return 0.0F; });
}

WeightData load_int8(const CodeParts& p, const Matrix& m) {
  const auto* codes = reinterpret_cast<const std::int8_t*>(p.codes->bytes.data());
  const auto* zeros = p.zeros == nullptr ? nullptr : reinterpret_cast<const std::int8_t*>(p.zeros->bytes.data());
  return widened(
      m, [&](std::int64_t n, std::int64_t k) { return static_cast<std::int32_t>(codes[n * m.in + k]); },
      [&](std::int64_t n, std::int64_t column) {
        return zeros == nullptr ? 0 : static_cast<std::int32_t>(zeros[m.place(n, column)]);
      });
}

WeightData load_packed(const CodeParts& p, const Matrix& m, std::int64_t bits) {
  const ByteRows codes(*p.codes);
  const std::int32_t middle = 1 << (bits - 1);
  // Both are stored 2^(bits - 1) higher, which their difference does not see.
  return widened(
      m, [&](std::int64_t n, std::int64_t k) { return field(codes[n], k * bits, bits); },
      [&](std::int64_t n, std::int64_t column) {
        if (p.zeros == nullptr) return middle;
        const std::int64_t groups = m.scale_columns;
        const std::int64_t bit = n * bits;
        std::uint64_t two = 0;  // Words of one group stand a row of groups apart.
        for (std::int64_t i = 0; i < (bit % 32 + bits > 32 ? 2 : 1); ++i) {
          std::uint32_t word = 0;
          std::memcpy(&word, p.zeros->bytes.data() + ((bit / 32 + i) * groups + column) * 4, 4);
          two |= std::uint64_t{word} << (32 * i);
        }
        return static_cast<std::int32_t>((two >> (bit % 32)) & ((std::uint64_t{1} << bits) - 1));
      });
}

WeightData load_gptq(const CodeParts& p, const Matrix& m, const StoredQuantisation& q) {
  const std::int64_t codes_a_word = 32 / q.bits;
  const std::int32_t mask = (1 << q.bits) - 1;
  const ByteRows codes(*p.codes);
  const ByteRows zeros(*p.zeros);
  return widened(
      m,
      [&](std::int64_t n, std::int64_t k) {
        return field(codes[k / codes_a_word] + n * 4, k % codes_a_word * q.bits, q.bits);
      },
      [&](std::int64_t n, std::int64_t column) {
        const std::int32_t stored = field(zeros[column], n * q.bits, q.bits);
        return q.zeros_less_one ? (stored + 1) & mask : stored;
      });
}

WeightData load_awq(const CodeParts& p, const Matrix& m) {
  constexpr std::int64_t bits = 4;
  constexpr std::int64_t place_of[] = {0, 4, 1, 5, 2, 6, 3, 7};
  const ByteRows codes(*p.codes);
  const ByteRows zeros(*p.zeros);
  const auto nibble = [&](const std::byte* row, std::int64_t n) {
    return field(row, n / 8 * 32 + place_of[n % 8] * bits, bits);
  };
  return widened(
      m, [&](std::int64_t n, std::int64_t k) { return nibble(codes[k], n); },
      [&](std::int64_t n, std::int64_t column) { return nibble(zeros[column], n); });
}

/// Scales as GPTQ and AWQ have them: (G, out), turned to (out, G).
Matrix with_turned_scales(const CodeParts& p, std::int64_t out, std::int64_t in, std::int64_t groups,
                          std::int64_t group) {
  Matrix m{.out = out, .in = in, .columns_a_scale = group > 0 ? group : in, .scale_columns = groups};
  const std::vector<float> stored = floats_of(*p.scales);
  m.scales.resize(stored.size());
  for (std::int64_t g = 0; g < groups; ++g) {
    for (std::int64_t n = 0; n < out; ++n)
      m.scales[static_cast<std::size_t>(n * groups + g)] = stored[static_cast<std::size_t>(g * out + n)];
  }
  if (p.groups != nullptr) m.group_of = groups_of(*p.groups, in, groups);
  return m;
}

/// One weight's tensors, checked; what its values are is read when they are asked for.
struct Joined {
  Shape shape;
  std::function<WeightData()> load;
};

Joined join_whole(const CodeParts& p, const StoredQuantisation& q) {
  if (p.codes->shape.size() != 2) fail_part(*p.codes, "is no matrix");
  const bool is_int = p.codes->stored == "I8";
  if (!is_int && p.codes->stored != "F8_E4M3") fail_part(*p.codes, "is neither F8_E4M3 nor I8");
  if (p.zeros != nullptr && (!is_int || p.zeros->shape != p.scales->shape || p.zeros->stored != "I8"))
    fail_part(*p.zeros, "are no zero points of its weight");
  const std::int64_t out = p.codes->shape[0];
  const std::int64_t in = p.codes->shape[1];
  return {p.codes->shape, [p, q, out, in, is_int] {
            const Matrix m = with_scales(*p.scales, out, in, q);
            return is_int ? load_int8(p, m) : load_fp8(p, m);
          }};
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

Joined join_packed(const CodeParts& p, const Weight& shape, const StoredQuantisation& q) {
  const Shape whole = said_shape(shape);
  check_shape(*p.codes, {whole[0], words_of(whole[1], q.bits)}, "I32");
  if (p.scales->shape.size() != 2) fail_part(*p.scales, "has not two axes");
  const std::int64_t groups = p.scales->shape[1];
  if (p.zeros != nullptr) check_shape(*p.zeros, {words_of(whole[0], q.bits), groups}, "I32");
  return {whole, [p, q, whole, groups] {
            Matrix m = with_scales(*p.scales, whole[0], whole[1], q);
            if (p.groups != nullptr) m.group_of = groups_of(*p.groups, whole[1], groups);
            return load_packed(p, m, q.bits);
          }};
}

/// GPTQ packs codes of inputs, AWQ those of outputs.
Joined join_words(const CodeParts& p, const StoredQuantisation& q) {
  const bool is_awq = q.method == Method::awq;
  if (p.codes->shape.size() != 2 || p.codes->stored != "I32") fail_part(*p.codes, "is no matrix of I32");
  const std::int64_t codes = 32 / q.bits;
  const std::int64_t in = p.codes->shape[0] * (is_awq ? 1 : codes);
  const std::int64_t out = p.codes->shape[1] * (is_awq ? codes : 1);
  const std::int64_t groups = groups_in(in, q.group);
  check_shape(*p.scales, {groups, out}, nullptr);
  check_shape(*p.zeros, {groups, words_of(out, q.bits)}, "I32");
  return {{out, in}, [p, q, out, in, groups, is_awq] {
            const Matrix m = with_turned_scales(p, out, in, groups, q.group);
            return is_awq ? load_awq(p, m) : load_gptq(p, m, q);
          }};
}

/// What a method calls the parts, behind the weight's name; null where it has none of that kind.
struct PartNames {
  Method method;
  const char* format;
  const char* codes;
  const char* scales;
  const char* zeros;
  const char* groups;
  bool needs_zeros;
  const char* title;  ///< What is shown of the weight's dtype.
};
constexpr PartNames part_names[] = {
    {Method::fp8, "", ".weight", ".weight_scale_inv", nullptr, nullptr, false, "F8_E4M3"},
    {Method::fp8, "", ".weight", ".weight_scale", nullptr, nullptr, false, "F8_E4M3"},
    {Method::compressed_tensors, "float-quantized", ".weight", ".weight_scale", nullptr, nullptr, false, "F8_E4M3"},
    {Method::compressed_tensors, "int-quantized", ".weight", ".weight_scale", ".weight_zero_point", nullptr, false,
     "int"},
    {Method::compressed_tensors, "pack-quantized", ".weight_packed", ".weight_scale", ".weight_zero_point",
     ".weight_g_idx", false, "packed int"},
    {Method::gptq, "", ".qweight", ".scales", ".qzeros", ".g_idx", true, "GPTQ int"},
    {Method::awq, "", ".qweight", ".scales", ".qzeros", nullptr, true, "AWQ int"},
};
/// Beside weights: of activations and caches, which run in the precision that is asked for.
constexpr const char* of_activations[] = {".input_scale", ".input_zero_point", ".input_global_scale", ".k_scale",
                                          ".v_scale",     ".output_scale",     ".activation_scale"};

const Weight* part(const Tensors& tensors, const std::string& base, const char* ending) {
  const auto found = ending == nullptr ? tensors.end() : tensors.find(base + ending);
  return found == tensors.end() ? nullptr : &found->second;
}

std::string title_of(const PartNames& names, const StoredQuantisation& q) {
  const std::string_view title = names.title;
  std::string text(title);
  if (title.ends_with("int")) text += std::to_string(q.bits);
  const std::int64_t group = q.block_columns > 0 ? q.block_columns : q.group;
  return group > 0 ? fmt::format("{} g{}", text, group) : text;
}

/// Owned copies: the parts go from the map.
std::shared_ptr<std::vector<Weight>> kept_parts(const CodeParts& p) {
  const auto kept = std::make_shared<std::vector<Weight>>();
  kept->reserve(4);
  for (const Weight* one : {p.codes, p.scales, p.zeros, p.groups}) kept->push_back(one == nullptr ? Weight{} : *one);
  return kept;
}

Weight joined_weight(const Tensors& tensors, const std::string& base, const PartNames& names,
                     const StoredQuantisation& q) {
  const CodeParts found = {part(tensors, base, names.codes), part(tensors, base, names.scales),
                           part(tensors, base, names.zeros), part(tensors, base, names.groups)};
  if (names.needs_zeros && found.zeros == nullptr)
    fail_part(*found.codes, fmt::format("lacks '{}{}' beside it", base, names.zeros));
  const auto kept = kept_parts(found);
  const auto at = [&](const Weight* one, std::size_t i) { return one == nullptr ? nullptr : &(*kept)[i]; };
  const CodeParts p = {at(found.codes, 0), at(found.scales, 1), at(found.zeros, 2), at(found.groups, 3)};
  Joined joined;
  if (std::string_view(names.codes) == ".weight_packed") {
    const Weight* shape = part(tensors, base, ".weight_shape");
    if (shape == nullptr) fail_part(*p.codes, fmt::format("lacks '{}.weight_shape' beside it", base));
    joined = join_packed(p, *shape, q);
  } else {
    joined = std::string_view(names.codes) == ".qweight" ? join_words(p, q) : join_whole(p, q);
  }
  Weight weight = *found.codes;
  weight.name = base + ".weight";
  weight.shape = joined.shape;
  weight.stored = title_of(names, q);
  weight.is_coded = false;
  weight.widened_from_codes = true;
  weight.load = [kept, load = std::move(joined.load)] { return load(); };
  return weight;
}

void erase_parts(Tensors& tensors, const std::string& base, const PartNames& names) {
  for (const char* ending :
       {names.codes, names.scales, names.zeros, names.groups, ".weight_shape", ".weight_zero_point", ".weight_g_idx"}) {
    if (ending != nullptr) tensors.erase(base + ending);
  }
}

bool is_of_activations(const std::string& name) {
  return std::any_of(std::begin(of_activations), std::end(of_activations),
                     [&](const char* ending) { return name.ends_with(ending); });
}

// ---- config.json

void check_bits(const StoredQuantisation& q, std::initializer_list<std::int64_t> known, const std::string& file) {
  if (std::find(known.begin(), known.end(), q.bits) == known.end())
    fail_user("{}: codes of {} bits of this quantisation are not read", file, q.bits);
}

/// -1 and nothing mean: all of a row.
std::int64_t group_size(const ConfigReader& in, const char* key) {
  if (!in.has(key)) return 0;
  const Json& value = in.json().at(key);
  return value.is_number_integer() && value == -1 ? 0 : in.count(key);
}

StoredQuantisation read_fp8(const ConfigReader& in) {
  StoredQuantisation q{.method = Method::fp8};
  if (!in.has("weight_block_size")) return q;
  const Json& size = in.json().at("weight_block_size");
  const bool is_pair = size.is_array() && size.size() == 2 && size[0].is_number_integer() &&
                       size[1].is_number_integer() && size[0] > 0 && size[1] > 0;
  if (!is_pair) fail_user("{}: 'weight_block_size' is no pair of sizes", in.file());
  q.block_rows = size[0].get<std::int64_t>();
  q.block_columns = size[1].get<std::int64_t>();
  return q;
}

StoredQuantisation read_compressed(const ConfigReader& in) {
  StoredQuantisation q{.method = Method::compressed_tensors, .format = in.text_or("format", "")};
  const bool is_known = std::any_of(std::begin(part_names), std::end(part_names), [&](const PartNames& names) {
    return names.method == q.method && q.format == names.format;
  });
  if (!is_known)
    fail_user(
        "{}: compressed-tensors of format '{}' are not read; pack-quantized, int-quantized and float-quantized are",
        in.file(), printable(q.format, 60));
  if (!in.has("config_groups") || !in.json().at("config_groups").is_object() ||
      in.json().at("config_groups").size() != 1)
    fail_user("{}: 'config_groups' of one group are read, no others", in.file());
  const ConfigReader group(in.json().at("config_groups").begin().value(), in.file());
  if (!group.has("weights")) fail_user("{}: its group of 'config_groups' has no 'weights'", in.file());
  const ConfigReader weights(group.json().at("weights"), in.file());
  q.bits = weights.count_or("num_bits", 8);
  q.group = group_size(weights, "group_size");
  if (q.format == "pack-quantized") check_bits(q, {1, 2, 3, 4, 5, 6, 7, 8}, in.file());
  return q;
}

StoredQuantisation read_gptq(const ConfigReader& in) {
  StoredQuantisation q{.method = Method::gptq, .bits = in.count_or("bits", 4), .group = group_size(in, "group_size")};
  check_bits(q, {2, 4, 8}, in.file());
  q.zeros_less_one = in.text_or("checkpoint_format", "gptq") != "gptq_v2";
  return q;
}

StoredQuantisation read_awq(const ConfigReader& in) {
  StoredQuantisation q{.method = Method::awq, .bits = in.count_or("bits", 4), .group = group_size(in, "group_size")};
  check_bits(q, {4}, in.file());
  const std::string version = in.text_or("version", "gemm");
  if (version != "gemm" && version != "GEMM")
    fail_user("{}: AWQ of version '{}' is not read; gemm is", in.file(), printable(version, 60));
  in.require_flag("zero_point", true);
  return q;
}

struct MethodRow {
  const char* name;
  StoredQuantisation (*read)(const ConfigReader& in);
};
constexpr MethodRow methods[] = {
    {"fp8", read_fp8}, {"compressed-tensors", read_compressed}, {"gptq", read_gptq}, {"awq", read_awq}};

}  // namespace

std::optional<StoredQuantisation> read_quantisation(const Json& config, const std::string& file) {
  if (!config.is_object()) return std::nullopt;
  for (const char* key : {"quantization_config", "compression_config"}) {
    if (!config.contains(key) || config.at(key).is_null()) continue;
    if (!config.at(key).is_object()) fail_user("{}: '{}' is no object", file, key);
    const ConfigReader in(config.at(key), file);
    const std::string method = in.text_or("quant_method", "not named");
    for (const MethodRow& row : methods) {
      if (method == row.name) return row.read(in);
    }
    fail_user("{}: '{}' (quant_method {}) is not read; fp8, compressed-tensors, gptq and awq are", file, key,
              printable(method, 60));
  }
  return std::nullopt;
}

void join_quantised(Tensors& tensors, const StoredQuantisation& q) {
  for (auto at = tensors.begin(); at != tensors.end();)
    at = is_of_activations(at->first) ? tensors.erase(at) : std::next(at);
  for (const PartNames& names : part_names) {
    if (names.method != q.method || (!q.format.empty() && q.format != names.format)) continue;
    std::vector<std::string> bases;
    for (const auto& [name, weight] : tensors) {
      if (name.ends_with(names.scales)) bases.push_back(name.substr(0, name.size() - std::string(names.scales).size()));
    }
    for (const std::string& base : bases) {
      if (part(tensors, base, names.codes) == nullptr)
        fail_part(tensors.at(base + names.scales), fmt::format("scales '{}{}', which is missing", base, names.codes));
      Weight weight = joined_weight(tensors, base, names, q);
      erase_parts(tensors, base, names);
      tensors[weight.name] = std::move(weight);
    }
  }
}

}  // namespace assay
