#include "model/opt.h"

#include "base/error.h"
#include "base/json.h"
#include "model/blocks.h"
#include "model/config_reader.h"
#include "model/decoder.h"
#include "model/families.h"

namespace assay {
namespace {

constexpr DecoderNames opt_names = {.attention_norm = "self_attn_layer_norm",
                                    .q = "self_attn.q_proj",
                                    .k = "self_attn.k_proj",
                                    .v = "self_attn.v_proj",
                                    .out = "self_attn.out_proj",
                                    .mlp_norm = "final_layer_norm",
                                    .gate = nullptr,
                                    .up = "fc1",
                                    .down = "fc2",
                                    .positions = "embed_positions.weight",
                                    .last_norm = "final_layer_norm",
                                    .project_in = "project_in",
                                    .project_out = "project_out"};

}  // namespace

const TensorNames opt_tensors = {.prefix = "model.decoder.", .embedding = "embed_tokens.weight"};

ModelConfig parse_opt(const ConfigReader& in) {
  in.require_flag("_remove_final_layer_norm", false);
  in.require_flag("enable_bias", true);
  in.require_flag("layer_norm_elementwise_affine", true);
  ModelConfig c;
  c.context = in.count("max_position_embeddings");
  c.d_model = in.count("hidden_size");
  c.layers = in.count("num_hidden_layers");
  c.heads = c.kv_heads = in.count("num_attention_heads");
  c.d_ff = in.count("ffn_dim");
  if (const std::int64_t width = in.count_or("word_embed_proj_dim", c.d_model); width != c.d_model)
    c.embedding_width = width;
  c.norms = in.flag_or("do_layer_norm_before", true) ? NormPlace::before : NormPlace::after;
  c.activation = in.activation_or("activation_function", "relu");
  c.norm = NormKind::layer;
  c.norm_epsilon = 1e-5;  // PyTorch's own: no entry says another.
  c.position_base = 1;
  c.qkv_bias = c.out_bias = c.mlp_bias = Bias::present;
  c.tied_head = in.flag_or("tie_word_embeddings", true);
  return c;
}

Json write_opt(const ModelConfig& c) {
  return {{"architectures", Json::array({"OPTForCausalLM"})},
          {"max_position_embeddings", c.context},
          {"hidden_size", c.d_model},
          {"word_embed_proj_dim", c.embedding_width > 0 ? c.embedding_width : c.d_model},
          {"num_hidden_layers", c.layers},
          {"num_attention_heads", c.heads},
          {"ffn_dim", c.d_ff},
          {"activation_function", config_word(c.activation)},
          {"do_layer_norm_before", c.norms == NormPlace::before},
          {"tie_word_embeddings", c.tied_head}};
}

void emit_opt(Blocks& b) {
  DecoderNames names = opt_names;
  if (b.config().norms == NormPlace::after) names.last_norm = nullptr;
  emit_decoder(b, names);
}

}  // namespace assay
