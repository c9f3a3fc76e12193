#include <algorithm>
#include <memory>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "formats/gguf_parts.h"
#include "model/checkpoint.h"
#include "model/families.h"
#include "model/gguf_entries.h"
#include "model/gguf_names.h"
#include "model/stored_values.h"

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

/// Of one architecture with and without experts there may be two families.
const Family& family_in(const Gguf& file) {
  const std::string_view architecture = file.text("general.architecture");
  const Entries in(file, architecture);
  const bool has_experts = in.has("expert_count") && in.integer("expert_count") > 0;
  std::string known;
  for (const Family& family : families()) {
    if (family.gguf == nullptr) continue;
    if (architecture == family.gguf->architecture && has_experts == family.gguf->has_experts) return family;
    known += (known.empty() ? "" : ", ") + std::string(family.gguf->architecture);
  }
  fail_user("{}: architecture '{}'{} is not supported in GGUF; supported: {}", file.name, architecture.substr(0, 60),
            has_experts ? " with experts" : "", known);
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

using GgufParts = std::vector<std::shared_ptr<Gguf>>;

const GgufTensor* find_tensor(const GgufParts& parts, std::string_view name) {
  for (const auto& part : parts) {
    if (const GgufTensor* tensor = part->find_tensor(name)) return tensor;
  }
  return nullptr;
}

std::vector<float> values_of(const GgufTensor& tensor) {
  std::vector<float> values(static_cast<std::size_t>(element_count(tensor.shape)));
  dequantise(tensor, values);
  return values;
}

/// Frequencies that the file divides pair by pair, whatever the length: how Llama 3.1's scaling stands in GGUF.
Json stretched(const GgufTensor& factors) {
  const std::vector<float> divisors = values_of(factors);
  return {{"rope_type", "longrope"},
          {"factor", 1},
          {"attention_factor", 1},
          {"short_factor", divisors},
          {"long_factor", divisors}};
}

Json entry(const Gguf& file, const Entries& in, const GgufEntryName& name) {
  using Kind = GgufEntryName::Kind;
  if (name.kind == Kind::flag) return file.truth(in.key(name.stored));
  return name.kind == Kind::whole ? Json(in.integer(name.stored)) : Json(in.real(name.stored, *name.range));
}

/// Divisors of each pair's frequency, short and long, as Phi-3's files hold them.
void add_divisors(const GgufParts& parts, const Entries& in, Json& json) {
  const GgufTensor* narrow = find_tensor(parts, "rope_factors_short.weight");
  const GgufTensor* wide = find_tensor(parts, "rope_factors_long.weight");
  if (narrow == nullptr || wide == nullptr) return;
  Json scaling = {{"rope_type", "longrope"}, {"short_factor", values_of(*narrow)}, {"long_factor", values_of(*wide)}};
  const char* const original = "rope.scaling.original_context_length";
  if (in.has(original)) scaling["original_max_position_embeddings"] = in.integer(original);
  if (in.has("rope.scaling.attn_factor")) scaling["attention_factor"] = in.number("rope.scaling.attn_factor");
  json["rope_scaling"] = std::move(scaling);
}

/// Fewer columns than a head has, as the share that config.json says.
void add_rotary_share(const Entries& in, Json& json) {
  if (!in.has("rope.dimension_count")) return;
  const std::int64_t heads = json.at("num_attention_heads").get<std::int64_t>();
  const std::int64_t usual = heads > 0 ? json.at("hidden_size").get<std::int64_t>() / heads : 0;
  const std::int64_t head_dim = json.value("head_dim", usual);
  const std::int64_t turned = in.integer("rope.dimension_count");
  if (turned != head_dim)  // Half a column more: what is rounded down is then the whole number.
    json["partial_rotary_factor"] = (static_cast<double>(turned) + 0.5) / static_cast<double>(head_dim);
}

/// As config.json has it, so that it passes the same checks. GGUF's keys are one set for all architectures; they get
/// the names that Llama and most decoders after it use.
ModelConfig read_config(const GgufParts& parts, const Family& family) {
  const Gguf& file = *parts.front();
  const Entries in(file, family.gguf->architecture);
  Json json = {{"model_type", family.name}};
  for (const GgufEntryName& name : needed_gguf_entries()) json[name.name] = entry(file, in, name);
  for (const GgufEntryName& name : gguf_entry_names()) {
    if (in.has(name.stored)) json[name.name] = entry(file, in, name);
  }
  json["rope_scaling"] = rotary_scaling(file, in);
  add_rotary_share(in, json);
  const GgufTensor* table = find_tensor(parts, "token_embd.weight");
  if (table == nullptr || table->shape.size() != 2) fail_user("{}: tensor 'token_embd.weight' is missing", file.name);
  json["vocab_size"] = table->shape[0];
  json["tie_word_embeddings"] = find_tensor(parts, "output.weight") == nullptr;
  if (const GgufTensor* factors = find_tensor(parts, "rope_freqs.weight")) json["rope_scaling"] = stretched(*factors);
  add_divisors(parts, in, json);
  json["has_qkv_bias"] = find_tensor(parts, "blk.0.attn_q.bias") != nullptr;
  if (family.gguf->imply != nullptr) family.gguf->imply(json, file.name);
  return parse_config(json, file.name);
}

/// Where they lie, where they are floats and not blocks. Views stay valid as long as the file is mapped.
WeightData as_values(const GgufTensor& tensor) {
  if (const std::optional<DType> dtype = layout_of(tensor.type).dtype)
    return {{*dtype, tensor.shape, tensor.bytes.data()}, {}};
  Tensor values(DType::f32, tensor.shape);
  dequantise(tensor, {values.as<float>(), static_cast<std::size_t>(values.count())});
  return owning(std::move(values));
}

/// Views stay valid as long as the file is mapped.
WeightData as_blocks(const GgufTensor& tensor, const BlockFormat& format) {
  return {{DType::u8, {tensor.shape[0], format.bytes_of(tensor.shape[1])}, tensor.bytes.data()}, {}};
}

/// f32, `shift` less each.
WeightData less(const WeightData& stored, double shift) {
  WeightData data = owning(converted(stored.view, DType::f32));
  auto* values = data.owned.as<float>();
  for (std::int64_t i = 0; i < data.owned.count(); ++i) values[i] -= static_cast<float>(shift);
  return data;
}

Weight gguf_weight(const std::shared_ptr<Gguf>& file, const GgufTensor& tensor, std::string canonical,
                   const ModelConfig& config) {
  const GgufNames& names = *config.family->gguf;
  const GgmlLayout& layout = layout_of(tensor.type);
  const double shift = is_gguf_norm(canonical) ? names.norm_shift : 0;
  Weight weight;
  weight.name = std::move(canonical);
  weight.checkpoint_name = tensor.name;
  weight.shape = tensor.shape;
  weight.stored = layout.name;
  weight.file = file->name;
  weight.bytes = tensor.bytes;
  weight.rows_moved = ends_with_any(weight.name, names.paired_rows) && tensor.shape[0] % config.head_dim == 0;
  const auto in_order = [moved = weight.rows_moved,
                         head_dim = static_cast<std::int64_t>(config.head_dim)](WeightData data) {
    return moved ? owning(rows_in_halves(data.view, head_dim)) : std::move(data);
  };
  weight.load = [file, tensor, in_order, shift] {
    return in_order(shift == 0 ? as_values(tensor) : less(as_values(tensor), shift));
  };
  if (tensor.shape.size() == 2 && layout.format != nullptr) {
    weight.blocks = layout.format;
    weight.load_blocks = [file, tensor, &format = *layout.format, in_order] {
      return in_order(as_blocks(tensor, format));
    };
  }
  weight.release = [file, tensor] {
    if (file->file) file->file->release_pages(tensor.bytes);
  };
  return weight;
}

/// Experts stand one behind the other in one tensor.
GgufTensor expert_of(const GgufTensor& all, std::int64_t expert) {
  GgufTensor one = all;
  one.shape = {all.shape.begin() + 1, all.shape.end()};
  const std::size_t bytes = all.bytes.size() / static_cast<std::size_t>(all.shape[0]);
  one.bytes = all.bytes.subspan(static_cast<std::size_t>(expert) * bytes, bytes);
  return one;
}

std::vector<Weight> gguf_weights(const std::shared_ptr<Gguf>& file, const GgufTensor& tensor,
                                 const ModelConfig& config) {
  const std::string canonical = canonical_gguf_name(tensor.name, *config.family->gguf);
  const std::size_t star = canonical.find('*');
  std::vector<Weight> weights;
  if (star == std::string::npos || tensor.shape.size() < 2) {
    weights.push_back(gguf_weight(file, tensor, canonical, config));
    return weights;
  }
  weights.reserve(static_cast<std::size_t>(tensor.shape[0]));
  for (std::int64_t expert = 0; expert < tensor.shape[0]; ++expert) {
    std::string name = canonical;
    name.replace(star, 1, std::to_string(expert));
    weights.push_back(gguf_weight(file, expert_of(tensor, expert), std::move(name), config));
  }
  return weights;
}

}  // namespace

Checkpoint open_gguf_checkpoint(const std::filesystem::path& path) {
  const GgufParts parts = open_gguf_parts(path);
  Checkpoint result;
  result.name = path.string();
  result.config = read_config(parts, family_in(*parts.front()));
  for (const auto& part : parts) {
    result.files.emplace_back(part->name);
    for (const GgufTensor& tensor : part->tensors) {
      for (Weight& weight : gguf_weights(part, tensor, result.config)) {
        const std::string name = weight.name;
        if (!result.tensors.emplace(name, std::move(weight)).second)
          fail_user("{}: tensor '{}' stands twice", result.name, name);
      }
    }
  }
  return result;
}

}  // namespace assay
