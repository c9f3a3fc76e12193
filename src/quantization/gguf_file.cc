#include "quantization/gguf_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <optional>
#include <span>

#include "base/error.h"
#include "formats/gguf_write.h"
#include "model/families.h"
#include "model/gguf_entries.h"
#include "model/gguf_names.h"
#include "text/tokenizer_gguf_write.h"

namespace assay {
namespace {

constexpr std::uint32_t quantisation_version = 2;

/// The type whose blocks these are, or are several of: a group of 128 that shares a scale is four that have the same.
struct TypeOfBlocks {
  const BlockFormat* blocks;
  GgmlType type;
};
constexpr TypeOfBlocks types_of_blocks[] = {{&blocks::q8_0, GgmlType::q8_0},      {&blocks::q4_0, GgmlType::q4_0},
                                            {&blocks::int4_g128, GgmlType::q4_0}, {&blocks::q4_1, GgmlType::q4_1},
                                            {&blocks::q4_k, GgmlType::q4_k},      {&blocks::q5_k, GgmlType::q5_k},
                                            {&blocks::q6_k, GgmlType::q6_k}};

struct TypeOfDtype {
  DType dtype;
  GgmlType type;
};
constexpr TypeOfDtype types_of_dtypes[] = {
    {DType::f32, GgmlType::f32}, {DType::f16, GgmlType::f16}, {DType::bf16, GgmlType::bf16}};

/// `general.file_type`, as llama.cpp numbers what most of a file is.
struct FileType {
  GgmlType type;
  std::uint32_t number;
};
constexpr FileType file_types[] = {{GgmlType::f32, 0},   {GgmlType::f16, 1},   {GgmlType::q4_0, 2},
                                   {GgmlType::q4_1, 3},  {GgmlType::q8_0, 7},  {GgmlType::q4_k, 14},
                                   {GgmlType::q5_k, 16}, {GgmlType::q6_k, 18}, {GgmlType::bf16, 32}};

/// Of a matrix; absent where no type holds it.
std::optional<GgmlType> type_of_matrix(const QuantizationSource& source, const KeptWeight& kept) {
  if (kept.scales != no_value) return std::nullopt;
  if (kept.blocks != nullptr) {
    const auto* found = std::ranges::find(types_of_blocks, kept.blocks, &TypeOfBlocks::blocks);
    return found == std::end(types_of_blocks) ? std::nullopt : std::optional(found->type);
  }
  const DType dtype = source.instance.program().value(kept.value).dtype;
  const auto* found = std::ranges::find(types_of_dtypes, dtype, &TypeOfDtype::dtype);
  return found == std::end(types_of_dtypes) ? std::nullopt : std::optional(found->type);
}

bool is_matrix(const QuantizationSource& source, const KeptWeight& kept) {
  return source.model.weights.at(kept.name).shape.size() == 2;
}

/// Vectors are widened.
GgmlType type_of(const QuantizationSource& source, const KeptWeight& kept) {
  return is_matrix(source, kept) ? *type_of_matrix(source, kept) : GgmlType::f32;
}

const GgufNames& names_of(const QuantizationSource& source) {
  return *source.model.config.family->gguf;
}

/// A table that head and embedding keep in two forms is two tensors.
bool is_head_apart(const KeptWeight& kept, const std::vector<KeptWeight>& all) {
  const auto forms = std::ranges::count(all, kept.name, &KeptWeight::name);
  return forms > 1 && !is_token_table(kept);
}

std::string tensor_name(const QuantizationSource& source, const KeptWeight& kept, const std::vector<KeptWeight>& all) {
  const std::string name =
      is_head_apart(kept, all) ? std::string(source.model.config.family->tensors->head) : kept.name;
  return gguf_name(name, names_of(source));
}

void check_weight(const QuantizationSource& source, const KeptWeight& kept, const std::vector<KeptWeight>& all) {
  const Node& reader = main_reader(kept);
  if (tensor_name(source, kept, all).empty())
    fail_user("{}: '{}' has no name in GGUF", layer_words(source, reader), kept.name);
  if (!is_matrix(source, kept)) return;
  const std::optional<GgmlType> type = type_of_matrix(source, kept);
  if (!type)
    fail_user(
        "{}: no type of GGUF has such weights; those of int8-group are its Q8_0, of int4-weights its Q4_0, of "
        "int4-weights-min its Q4_1, of int4-weights-k, int5-weights-k and int6-weights-k its K types, and fp32, fp16 "
        "and bf16 are as they are",
        layer_words(source, reader));
  const std::int64_t width = source.model.weights.at(kept.name).shape[1];
  if (const std::size_t block = layout_of(*type).block_elements; static_cast<std::size_t>(width) % block != 0)
    fail_user("{}: rows of {} values make no whole blocks of {}", layer_words(source, reader), width, block);
}

/// (out, in), in the order of rows that the file has, as the elements or blocks of its type.
std::vector<std::byte> matrix_bytes(const QuantizationSource& source, const KeptWeight& kept) {
  const TensorView values = kept_values(source, kept);
  const bool is_paired = ends_with_any(kept.name, names_of(source).paired_rows);
  const Tensor moved = is_paired ? rows_in_pairs(values, source.model.config.head_dim) : Tensor();
  const TensorView& rows = is_paired ? moved.view() : values;
  return {rows.data, rows.data + rows.bytes()};
}

/// Blocks of 128 as four of 32: the scale again before each quarter of the codes.
std::vector<std::byte> as_q4_0(const std::vector<std::byte>& from) {
  const BlockFormat& wide = blocks::int4_g128;
  const BlockFormat& narrow = blocks::q4_0;
  const std::int64_t scale_bytes = static_cast<std::int64_t>(size_of(wide.maker->scale));
  const std::int64_t quarter = narrow.bytes - scale_bytes;
  std::vector<std::byte> to;
  to.reserve(from.size() / static_cast<std::size_t>(wide.bytes) * static_cast<std::size_t>(4 * narrow.bytes));
  for (auto block = from.begin(); block != from.end(); block += wide.bytes) {
    for (std::int64_t i = 0; i < 4; ++i) {
      to.insert(to.end(), block, block + scale_bytes);
      to.insert(to.end(), block + scale_bytes + i * quarter, block + scale_bytes + (i + 1) * quarter);
    }
  }
  return to;
}

/// f32, with what the family's norms stand with added.
std::vector<std::byte> vector_bytes(const QuantizationSource& source, const KeptWeight& kept) {
  Tensor values = converted(kept_values(source, kept), DType::f32);
  const GgufNames& names = names_of(source);
  if (ends_with_any(kept.name, names.paired_rows)) values = rows_in_pairs(values.view(), source.model.config.head_dim);
  if (is_gguf_norm(kept.name)) {
    for (std::int64_t i = 0; i < values.count(); ++i) values.as<float>()[i] += static_cast<float>(names.norm_shift);
  }
  return {values.data(), values.data() + values.bytes()};
}

GgufTensorSource tensor_source(const QuantizationSource& source, const KeptWeight& kept,
                               const std::vector<KeptWeight>& all) {
  const auto produce = [&source, &kept](const ByteSink& sink) {
    if (!is_matrix(source, kept)) return sink(vector_bytes(source, kept));
    const std::vector<std::byte> bytes = matrix_bytes(source, kept);
    sink(kept.blocks == &blocks::int4_g128 ? as_q4_0(bytes) : bytes);
  };
  return {tensor_name(source, kept, all), type_of(source, kept), source.model.weights.at(kept.name).shape, produce};
}

std::optional<GgufTensorSource> divisors_source(const ModelConfig& config) {
  const std::vector<float> divisors = gguf_rope_divisors(config);
  if (divisors.empty()) return std::nullopt;
  return GgufTensorSource{"rope_freqs.weight", GgmlType::f32, {std::ssize(divisors)}, [divisors](const ByteSink& sink) {
                            sink(std::as_bytes(std::span(divisors)));
                          }};
}

/// The number of the type that most matrices have.
std::uint32_t file_type_of(const std::vector<GgufTensorSource>& tensors) {
  std::map<GgmlType, int> counts;
  for (const GgufTensorSource& tensor : tensors) counts[tensor.type] += tensor.shape.size() == 2 ? 1 : 0;
  const auto most = std::ranges::max_element(counts, {}, [](const auto& one) { return one.second; });
  return std::ranges::find(file_types, most->first, &FileType::type)->number;
}

std::vector<GgufEntry> metadata_of(const QuantizationSource& source, const std::vector<GgufTensorSource>& tensors,
                                   WrittenModel& written) {
  std::vector<GgufEntry> entries = {gguf_text("general.architecture", names_of(source).architecture),
                                    gguf_text("general.type", "model"),
                                    gguf_text("general.name", std::filesystem::path(source.model.name).stem().string()),
                                    gguf_count("general.file_type", file_type_of(tensors)),
                                    gguf_count("general.quantization_version", quantisation_version),
                                    gguf_text("assay.precision", source.precision)};
  if (!source.recipe.empty()) entries.push_back(gguf_text("assay.recipe", source.recipe));
  const std::vector<GgufEntry> config = gguf_config_entries(source.model.config);
  entries.insert(entries.end(), config.begin(), config.end());
  if (!source.model.files) return entries;
  const GgufTokenizer tokenizer = gguf_tokenizer(*source.model.files, source.model.config.vocab_size);
  if (!tokenizer.hindrance.empty()) written.notes.push_back("no tokenizer in the file: " + tokenizer.hindrance);
  entries.insert(entries.end(), tokenizer.entries.begin(), tokenizer.entries.end());
  return entries;
}

void refuse_difference(const QuantizationSource& source, const std::string& difference) {
  if (!difference.empty()) fail_user("{}: {}: GGUF cannot hold it", source.model.name, difference);
}

/// What was written has to be the model.
void check_read_back(const QuantizationSource& source, const std::vector<KeptWeight>& all,
                     const std::filesystem::path& file) {
  const Model read = open_model(file.string(), {});
  ModelConfig config = source.model.config;
  const bool has_head_apart =
      std::ranges::any_of(all, [&](const KeptWeight& kept) { return is_head_apart(kept, all); });
  if (has_head_apart) config.tied_head = false;
  refuse_difference(source, gguf_difference(config, read.config));
}

}  // namespace

void check_gguf(const QuantizationSource& source) {
  check_rows(source.instance.precision());
  const Family& family = *source.model.config.family;
  if (family.gguf == nullptr)
    fail_user("{}: models of family {} are not written as GGUF", source.model.name, family.name);
  if (family.gguf->has_experts)
    fail_user("{}: has experts, which are not written as GGUF; a folder holds them", source.model.name);
  refuse_difference(source, gguf_hindrance(source.model.config, source.model.name));
  const std::vector<KeptWeight> all = kept_weights(source.instance.program());
  for (const KeptWeight& kept : all) check_weight(source, kept, all);
}

WrittenModel write_model_gguf(const QuantizationSource& source, const std::filesystem::path& file) {
  const std::vector<KeptWeight> all = kept_weights(source.instance.program());
  WrittenModel written;
  std::vector<GgufTensorSource> tensors;
  for (const KeptWeight& kept : all) {
    tensors.push_back(tensor_source(source, kept, all));
    ++(kept.blocks != nullptr ? written.quantised : written.plain);
  }
  if (const auto divisors = divisors_source(source.model.config)) tensors.push_back(*divisors);
  write_gguf(file, metadata_of(source, tensors, written), tensors);
  for (const GgufTensorSource& tensor : tensors) written.bytes += static_cast<std::int64_t>(tensor_bytes(tensor));
  check_read_back(source, all, file);
  return written;
}

}  // namespace assay
