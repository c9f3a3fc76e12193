#include <algorithm>
#include <memory>

#include "base/error.h"
#include "base/json.h"
#include "formats/gguf.h"
#include "model/checkpoint.h"

namespace assay {
namespace {

double real(const Gguf& file, std::string_view key, const RealRange& range) {
  return checked_real(file.number(key), range, file.name, key);
}

/// Positions divided by a factor; llama.cpp takes one whose type is not named for a linear one.
void refuse_scaled_positions(const Gguf& file) {
  for (const char* key : {"llama.rope.scaling.factor", "llama.rope.scale_linear"}) {
    if (file.find(key) == nullptr || file.find("llama.rope.scaling.type") != nullptr) continue;
    const double factor = file.number(key);
    if (factor != 0 && factor != 1) fail_user("{}: '{}' = {} is not supported", file.name, key, factor);
  }
}

ModelConfig read_config(const Gguf& file) {
  const std::string_view architecture = file.text("general.architecture");
  if (architecture != "llama") {
    fail_user("{}: architecture '{}' is not supported in GGUF; llama is", file.name, architecture.substr(0, 60));
  }
  if (const GgufValue* scaling = file.find("llama.rope.scaling.type");
      scaling != nullptr && file.text("llama.rope.scaling.type") != "none") {
    fail_user("{}: 'llama.rope.scaling.type' = '{}' is not supported", file.name, file.text("llama.rope.scaling.type"));
  }
  refuse_scaled_positions(file);
  // The same entries as config.json's, so that they pass the same checks.
  Json json = {{"model_type", "llama"}, {"hidden_act", "silu"}};
  json["hidden_size"] = file.integer("llama.embedding_length");
  json["num_hidden_layers"] = file.integer("llama.block_count");
  json["num_attention_heads"] = file.integer("llama.attention.head_count");
  if (file.find("llama.attention.head_count_kv") != nullptr) {
    json["num_key_value_heads"] = file.integer("llama.attention.head_count_kv");
  }
  if (file.find("llama.attention.key_length") != nullptr) json["head_dim"] = file.integer("llama.attention.key_length");
  json["intermediate_size"] = file.integer("llama.feed_forward_length");
  json["max_position_embeddings"] = file.integer("llama.context_length");
  json["rms_norm_eps"] = real(file, "llama.attention.layer_norm_rms_epsilon", norm_epsilon_range);
  if (file.find("llama.rope.freq_base") != nullptr)
    json["rope_theta"] = real(file, "llama.rope.freq_base", rope_theta_range);
  const GgufTensor* table = file.find_tensor("token_embd.weight");
  if (table == nullptr || table->shape.size() != 2) fail_user("{}: tensor 'token_embd.weight' is missing", file.name);
  json["vocab_size"] = table->shape[0];
  json["tie_word_embeddings"] = file.find_tensor("output.weight") == nullptr;
  ModelConfig config = parse_config(json, file.name);
  if (file.find("llama.rope.dimension_count") != nullptr &&
      file.integer("llama.rope.dimension_count") != config.head_dim) {
    fail_user("{}: rotary embeddings over a part of the head are not supported", file.name);
  }
  return config;
}

/// "blk.3.attn_q.weight" -> "layers.3.self_attn.q_proj.weight"; unknown names stay as they are.
std::string canonical(std::string_view name) {
  static const std::pair<std::string_view, std::string_view> whole[] = {{"token_embd.weight", "embed_tokens.weight"},
                                                                        {"output_norm.weight", "norm.weight"},
                                                                        {"output.weight", "lm_head.weight"}};
  static const std::pair<std::string_view, std::string_view> parts[] = {
      {"attn_norm.weight", "input_layernorm.weight"},    {"attn_q.weight", "self_attn.q_proj.weight"},
      {"attn_k.weight", "self_attn.k_proj.weight"},      {"attn_v.weight", "self_attn.v_proj.weight"},
      {"attn_output.weight", "self_attn.o_proj.weight"}, {"ffn_norm.weight", "post_attention_layernorm.weight"},
      {"ffn_gate.weight", "mlp.gate_proj.weight"},       {"ffn_up.weight", "mlp.up_proj.weight"},
      {"ffn_down.weight", "mlp.down_proj.weight"}};
  for (const auto& [from, to] : whole) {
    if (name == from) return std::string(to);
  }
  if (name.rfind("blk.", 0) != 0) return std::string(name);
  const std::size_t dot = name.find('.', 4);
  if (dot == std::string_view::npos) return std::string(name);
  for (const auto& [from, to] : parts) {
    if (name.substr(dot + 1) == from) return fmt::format("layers.{}.{}", name.substr(4, dot - 4), to);
  }
  return std::string(name);
}

/// GGUF orders the rows of Q and K for rotary pairs (2i, 2i + 1); the Program turns (i, i + d/2). Row 2i of a head goes
/// to i, row 2i + 1 to i + d/2.
void undo_permutation(Tensor& weight, std::int64_t head_dim) {
  const std::int64_t width = weight.shape()[1];
  Tensor source = converted(weight.view(), DType::f32);
  for (std::int64_t row = 0; row < weight.shape()[0]; ++row) {
    const std::int64_t within = row % head_dim;
    const std::int64_t to = row - within + within / 2 + within % 2 * (head_dim / 2);
    std::copy_n(source.as<float>() + row * width, width, weight.as<float>() + to * width);
  }
}

Weight make_weight(const std::shared_ptr<Gguf>& file, const GgufTensor& tensor, std::int64_t head_dim) {
  Weight weight;
  weight.name = canonical(tensor.name);
  weight.checkpoint_name = tensor.name;
  weight.shape = tensor.shape;
  weight.stored = layout_of(tensor.type).name;
  weight.file = file->name;
  weight.bytes = tensor.bytes;
  const auto ends = [&](std::string_view ending) { return weight.name.find(ending) != std::string::npos; };
  const bool permuted =
      (ends("q_proj") || ends("k_proj")) && tensor.shape.size() == 2 && tensor.shape[0] % head_dim == 0;
  weight.load = [file, &tensor, permuted, head_dim] {
    WeightData data{{}, Tensor(DType::f32, tensor.shape)};
    dequantise(tensor, {data.owned.as<float>(), static_cast<std::size_t>(data.owned.count())});
    if (permuted) undo_permutation(data.owned, head_dim);
    data.view = data.owned.view();
    return data;
  };
  weight.release = [file, &tensor] {
    if (file->file) file->file->release_pages(tensor.bytes);
  };
  return weight;
}

}  // namespace

Checkpoint open_gguf_checkpoint(const std::filesystem::path& path) {
  const auto file = std::make_shared<Gguf>(open_gguf(path));
  Checkpoint result;
  result.name = path.string();
  result.files = {path};
  result.config = read_config(*file);
  for (const GgufTensor& tensor : file->tensors) {
    Weight weight = make_weight(file, tensor, result.config.head_dim);
    const std::string name = weight.name;
    if (!result.tensors.emplace(name, std::move(weight)).second) {
      fail_user("{}: tensor '{}' stands twice", result.name, name);
    }
  }
  return result;
}

}  // namespace assay
