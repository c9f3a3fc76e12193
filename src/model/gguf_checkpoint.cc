#include <algorithm>
#include <cstring>
#include <memory>

#include "base/error.h"
#include "base/json.h"
#include "formats/gguf_parts.h"
#include "model/checkpoint.h"
#include "model/families.h"

namespace assay {
namespace {

/// The entries of a file's configuration, whose keys begin with its architecture.
class Entries {
 public:
  Entries(const Gguf& file, std::string_view architecture) : file_(file), prefix_(std::string(architecture) + ".") {}

  std::string key(const char* entry) const { return prefix_ + entry; }
  bool has(const char* entry) const { return file_.find(key(entry)) != nullptr; }
  std::int64_t integer(const char* entry) const { return file_.integer(key(entry)); }
  std::string_view text(const char* entry) const { return file_.text(key(entry)); }
  double number(const char* entry) const { return file_.number(key(entry)); }
  double real(const char* entry, const RealRange& range) const {
    return checked_real(number(entry), range, file_.name, key(entry));
  }

 private:
  const Gguf& file_;
  std::string prefix_;
};

const Family& family_in(const Gguf& file) {
  const std::string_view architecture = file.text("general.architecture");
  std::string known;
  for (const Family& family : families()) {
    if (family.gguf == nullptr) continue;
    if (architecture == family.gguf->architecture) return family;
    known += (known.empty() ? "" : ", ") + std::string(family.gguf->architecture);
  }
  fail_user("{}: architecture '{}' is not supported in GGUF; supported: {}", file.name, architecture.substr(0, 60),
            known);
}

/// Scaled positions as config.json has them, null where they are not scaled. llama.cpp takes a factor whose type is not
/// named for that of a linear one.
Json rotary_scaling(const Gguf& file, const Entries& in) {
  const char* const type = "rope.scaling.type";
  const char* const old_factor = "rope.scale_linear";
  const std::string_view named = in.has(type) ? in.text(type) : "linear";
  const char* const factor = in.has("rope.scaling.factor") || !in.has(old_factor) ? "rope.scaling.factor" : old_factor;
  const double longer = in.has(factor) ? in.number(factor) : 1;
  if (named == "none" || longer == 0 || longer == 1) return nullptr;
  if (named != "linear" && named != "yarn")
    fail_user("{}: '{}' = '{}' is not supported", file.name, in.key(type), named.substr(0, 60));
  Json scaling = {{"rope_type", named}, {"factor", longer}};
  const char* const original = "rope.scaling.original_context_length";
  if (in.has(original)) scaling["original_max_position_embeddings"] = in.integer(original);
  return scaling;
}

using Parts = std::vector<std::shared_ptr<Gguf>>;

const GgufTensor* find_tensor(const Parts& parts, std::string_view name) {
  for (const auto& part : parts) {
    if (const GgufTensor* tensor = part->find_tensor(name)) return tensor;
  }
  return nullptr;
}

/// Frequencies that the file divides pair by pair, whatever the length: how Llama 3.1's scaling stands in GGUF.
Json stretched(const GgufTensor& factors) {
  std::vector<float> divisors(static_cast<std::size_t>(element_count(factors.shape)));
  dequantise(factors, divisors);
  return {{"rope_type", "longrope"},
          {"factor", 1},
          {"attention_factor", 1},
          {"short_factor", divisors},
          {"long_factor", divisors}};
}

/// As config.json has it, so that it passes the same checks. GGUF's keys are one set for all architectures; they get
/// the names that Llama and most decoders after it use.
ModelConfig read_config(const Parts& parts, const Family& family) {
  const Gguf& file = *parts.front();
  const Entries in(file, family.gguf->architecture);
  Json json = {{"model_type", family.name}};
  json["hidden_size"] = in.integer("embedding_length");
  json["num_hidden_layers"] = in.integer("block_count");
  json["num_attention_heads"] = in.integer("attention.head_count");
  if (in.has("attention.head_count_kv")) json["num_key_value_heads"] = in.integer("attention.head_count_kv");
  if (in.has("attention.key_length")) json["head_dim"] = in.integer("attention.key_length");
  json["intermediate_size"] = in.integer("feed_forward_length");
  json["max_position_embeddings"] = in.integer("context_length");
  json["rms_norm_eps"] = in.real("attention.layer_norm_rms_epsilon", norm_epsilon_range);
  if (in.has("rope.freq_base")) json["rope_theta"] = in.real("rope.freq_base", rope_theta_range);
  json["rope_scaling"] = rotary_scaling(file, in);
  const GgufTensor* table = find_tensor(parts, "token_embd.weight");
  if (table == nullptr || table->shape.size() != 2) fail_user("{}: tensor 'token_embd.weight' is missing", file.name);
  json["vocab_size"] = table->shape[0];
  json["tie_word_embeddings"] = find_tensor(parts, "output.weight") == nullptr;
  if (const GgufTensor* factors = find_tensor(parts, "rope_freqs.weight")) json["rope_scaling"] = stretched(*factors);
  ModelConfig config = parse_config(json, file.name);
  if (in.has("rope.dimension_count") && in.integer("rope.dimension_count") != config.head_dim) {
    fail_user("{}: rotary embeddings over a part of the head are not supported", file.name);
  }
  return config;
}

/// "blk.3.attn_q.weight" -> "layers.3.self_attn.q_proj.weight"; unknown names stay as they are.
std::string canonical(std::string_view name, const GgufNames& names) {
  for (const auto& [stored, known] : names.whole) {
    if (name == stored) return known;
  }
  const std::size_t dot = name.starts_with("blk.") ? name.find('.', 4) : std::string_view::npos;
  if (dot == std::string_view::npos) return std::string(name);
  for (const auto& [stored, known] : names.layer) {
    if (name.substr(dot + 1) == stored) return fmt::format("layers.{}.{}", name.substr(4, dot - 4), known);
  }
  return std::string(name);
}

/// GGUF orders the rows of Q and K for rotary pairs (2i, 2i + 1); the Program turns (i, i + d/2). Row 2i of a head goes
/// to i, row 2i + 1 to i + d/2. `rows` is a matrix of whatever elements.
Tensor without_permutation(const TensorView& rows, std::int64_t head_dim) {
  Tensor result(rows.dtype, rows.shape);
  const auto row_bytes = static_cast<std::size_t>(rows.shape[1]) * size_of(rows.dtype);
  for (std::int64_t row = 0; row < rows.shape[0]; ++row) {
    const std::int64_t within = row % head_dim;
    const std::int64_t to = row - within + within / 2 + within % 2 * (head_dim / 2);
    std::memcpy(result.data() + static_cast<std::size_t>(to) * row_bytes,
                rows.data + static_cast<std::size_t>(row) * row_bytes, row_bytes);
  }
  return result;
}

WeightData owning(Tensor values) {
  WeightData data{{}, std::move(values)};
  data.view = data.owned.view();
  return data;
}

WeightData as_values(const GgufTensor& tensor) {
  Tensor values(DType::f32, tensor.shape);
  dequantise(tensor, {values.as<float>(), static_cast<std::size_t>(values.count())});
  return owning(std::move(values));
}

/// Views stay valid as long as the file is mapped.
WeightData as_blocks(const GgufTensor& tensor, const BlockFormat& format) {
  return {{DType::u8, {tensor.shape[0], format.bytes_of(tensor.shape[1])}, tensor.bytes.data()}, {}};
}

Weight gguf_weight(const std::shared_ptr<Gguf>& file, const GgufTensor& tensor, const ModelConfig& config) {
  const GgufNames& names = *config.family->gguf;
  const GgmlLayout& layout = layout_of(tensor.type);
  const bool is_matrix = tensor.shape.size() == 2;
  Weight weight;
  weight.name = canonical(tensor.name, names);
  weight.checkpoint_name = tensor.name;
  weight.shape = tensor.shape;
  weight.stored = layout.name;
  weight.file = file->name;
  weight.bytes = tensor.bytes;
  weight.rows_moved =
      ends_with_any(weight.name, names.paired_rows) && is_matrix && tensor.shape[0] % config.head_dim == 0;
  const auto in_order = [moved = weight.rows_moved,
                         head_dim = static_cast<std::int64_t>(config.head_dim)](WeightData data) {
    return moved ? owning(without_permutation(data.view, head_dim)) : std::move(data);
  };
  weight.load = [file, &tensor, in_order] { return in_order(as_values(tensor)); };
  if (is_matrix && layout.format != nullptr) {
    weight.blocks = layout.format;
    weight.load_blocks = [file, &tensor, &format = *layout.format, in_order] {
      return in_order(as_blocks(tensor, format));
    };
  }
  weight.release = [file, &tensor] {
    if (file->file) file->file->release_pages(tensor.bytes);
  };
  return weight;
}

}  // namespace

Checkpoint open_gguf_checkpoint(const std::filesystem::path& path) {
  const Parts parts = open_gguf_parts(path);
  Checkpoint result;
  result.name = path.string();
  result.config = read_config(parts, family_in(*parts.front()));
  for (const auto& part : parts) {
    result.files.emplace_back(part->name);
    for (const GgufTensor& tensor : part->tensors) {
      Weight weight = gguf_weight(part, tensor, result.config);
      const std::string name = weight.name;
      if (!result.tensors.emplace(name, std::move(weight)).second)
        fail_user("{}: tensor '{}' stands twice", result.name, name);
    }
  }
  return result;
}

}  // namespace assay
