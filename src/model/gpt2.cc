#include "model/gpt2.h"

#include <fmt/format.h>

#include <cmath>

#include "base/json.h"
#include "model/blocks.h"
#include "model/config_reader.h"
#include "model/random_weights.h"

namespace assay {
namespace {

/// Its Conv1D layers.
constexpr const char* gpt2_transposed[] = {".attn.c_attn.weight", ".attn.c_proj.weight", ".mlp.c_fc.weight",
                                           ".mlp.c_proj.weight"};

/// x + f(ln(x)) twice: attention, then the MLP (Radford et al. 2019).
ValueId gpt2_block(Blocks& b, ValueId x, std::int64_t layer) {
  const ModelConfig& c = b.config();
  const std::string path = fmt::format("layers.{}", layer);
  const std::string weights = fmt::format("h.{}", layer);
  b.at(path + ".ln1", Role::norm);
  ValueId h = b.layer_norm(x, weights + ".ln_1");
  b.at(path + ".attn.qkv_proj", Role::attention);
  h = b.linear(h, weights + ".attn.c_attn", 3 * c.d_model, Bias::present);
  const ValueId q = b.columns(h, 0, c.d_model);
  const ValueId k = b.columns(h, c.d_model, c.d_model);
  const ValueId v = b.columns(h, 2 * c.d_model, c.d_model);
  h = b.attention(path + ".attn", q, k, v);
  b.at(path + ".attn.out_proj", Role::attention);
  h = b.linear(h, weights + ".attn.c_proj", c.d_model, Bias::present);
  x = b.add(x, b.dropout(h));
  b.at(path + ".ln2", Role::norm);
  h = b.layer_norm(x, weights + ".ln_2");
  b.at(path + ".mlp.up_proj", Role::mlp);
  h = b.activation(b.linear(h, weights + ".mlp.c_fc", c.d_ff, Bias::present), c.activation);
  b.at(path + ".mlp.down_proj", Role::mlp);
  h = b.linear(h, weights + ".mlp.c_proj", c.d_model, Bias::present);
  return b.add(x, b.dropout(h));
}

}  // namespace

const TensorNames gpt2_tensors = {.prefix = "transformer.", .embedding = "wte.weight", .transposed = gpt2_transposed};

ModelConfig parse_gpt2(const ConfigReader& in) {
  in.require_flag("scale_attn_weights", true);
  in.require_flag("scale_attn_by_inverse_layer_idx", false);
  in.require_flag("reorder_and_upcast_attn", false);
  in.require_flag("add_cross_attention", false);
  ModelConfig c;
  c.context = in.has("n_positions") ? in.count("n_positions") : in.count("n_ctx");
  c.d_model = in.count("n_embd");
  c.layers = in.count("n_layer");
  c.heads = c.kv_heads = in.count("n_head");
  c.d_ff = in.count_or("n_inner", 4 * c.d_model);
  c.activation = in.activation_or("activation_function", "gelu_new");
  c.norm_epsilon = in.real_or("layer_norm_epsilon", 1e-5, norm_epsilon_range);
  c.tied_head = in.flag_or("tie_word_embeddings", true);
  return c;
}

Json write_gpt2(const ModelConfig& c) {
  return {{"architectures", Json::array({"GPT2LMHeadModel"})},
          {"n_positions", c.context},
          {"n_embd", c.d_model},
          {"n_layer", c.layers},
          {"n_head", c.heads},
          {"n_inner", c.d_ff},
          {"activation_function", config_word(c.activation)},
          {"layer_norm_epsilon", c.norm_epsilon},
          {"tie_word_embeddings", c.tied_head}};
}

Distribution initial_gpt2(const Value& weight, const ModelConfig& config) {
  Distribution drawn = initial_normal(weight, config);
  if (weight.name.ends_with(".c_proj.weight")) drawn.deviation /= std::sqrt(2.0 * static_cast<double>(config.layers));
  return drawn;
}

void emit_gpt2(Blocks& b) {
  const ModelConfig& c = b.config();
  b.at("embeddings", Role::embedding);
  ValueId x = b.token_embedding();
  x = b.add_rows(x, "wpe.weight", c.context, RowChoice::by_position);
  x = b.dropout(x);
  b.hidden(0, x);
  for (std::int64_t layer = 0; layer < c.layers; ++layer) {
    x = gpt2_block(b, x, layer);
    b.hidden(layer + 1, x);
  }
  b.at("ln_f", Role::norm);
  x = b.layer_norm(x, "ln_f");
  b.language_head(x);
}

}  // namespace assay
