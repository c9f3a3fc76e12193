#include "model/decoders.h"

#include "base/error.h"
#include "base/json.h"
#include "model/blocks.h"
#include "model/config_reader.h"
#include "model/decoder.h"
#include "model/llama.h"

namespace assay {
namespace {

constexpr DecoderNames olmo2_names = {.attention_norm = "post_attention_layernorm",
                                      .q = "self_attn.q_proj",
                                      .k = "self_attn.k_proj",
                                      .v = "self_attn.v_proj",
                                      .out = "self_attn.o_proj",
                                      .mlp_norm = "post_feedforward_layernorm",
                                      .gate = "mlp.gate_proj",
                                      .up = "mlp.up_proj",
                                      .down = "mlp.down_proj",
                                      .q_norm = "self_attn.q_norm",
                                      .k_norm = "self_attn.k_norm"};
constexpr DecoderNames phi3_names = {.attention_norm = "input_layernorm",
                                     .q = "self_attn.qkv_proj",
                                     .k = nullptr,
                                     .v = nullptr,
                                     .out = "self_attn.o_proj",
                                     .mlp_norm = "post_attention_layernorm",
                                     .gate = "mlp.gate_up_proj",
                                     .up = nullptr,
                                     .down = "mlp.down_proj"};

constexpr DecoderNames gptj_names = {.attention_norm = "ln_1",
                                     .q = "attn.q_proj",
                                     .k = "attn.k_proj",
                                     .v = "attn.v_proj",
                                     .out = "attn.out_proj",
                                     .mlp_norm = nullptr,
                                     .gate = nullptr,
                                     .up = "mlp.fc_in",
                                     .down = "mlp.fc_out",
                                     .last_norm = "ln_f",
                                     .layers = "h",
                                     .head_bias = "lm_head.bias"};
constexpr DecoderNames falcon_names = {.attention_norm = "input_layernorm",
                                       .q = "self_attention.query_key_value",
                                       .k = nullptr,
                                       .v = nullptr,
                                       .out = "self_attention.dense",
                                       .mlp_norm = "post_attention_layernorm",
                                       .gate = nullptr,
                                       .up = "mlp.dense_h_to_4h",
                                       .down = "mlp.dense_4h_to_h",
                                       .last_norm = "ln_f",
                                       .layers = "h"};
constexpr const char* falcon_by_key_head[] = {".query_key_value.weight", ".query_key_value.bias"};

/// Norms of the newer models, where attention and MLP have one each.
DecoderNames with_norms_apart(DecoderNames names) {
  names.attention_norm = "ln_attn";
  names.mlp_norm = "ln_mlp";
  return names;
}

constexpr RotaryWords falcon_rotary = {};

NormPlace falcon_norms(const ConfigReader& in, bool is_newer) {
  const bool is_parallel = in.flag_or("parallel_attn", true);
  const std::int64_t norms = in.count_or("num_ln_in_parallel_attn", is_newer ? 2 : 1);
  if (norms > 2 || (norms == 2 && !is_newer) || (is_newer && !is_parallel))
    fail_user(
        "{}: 'new_decoder_architecture' {}, 'parallel_attn' {} and {} norms ('num_ln_in_parallel_attn') do not go "
        "together",
        in.file(), is_newer, is_parallel, norms);
  if (!is_parallel) return NormPlace::before;
  return norms == 2 ? NormPlace::parallel : NormPlace::shared;
}

constexpr DecoderWords olmo2_words = {.epsilon = 1e-5};
constexpr DecoderWords olmo3_words = {.epsilon = 1e-5,
                                      .rotary = {.theta = 500000, .window_theta = 0},
                                      .windowed = Windowed::listed,
                                      .window = 4096,
                                      .whole_layer_every = 4};
constexpr DecoderWords phi3_words = {
    .epsilon = 1e-5, .rotary = {.plain_turn_a_share = true}, .windowed = Windowed::all};
constexpr DecoderWords stablelm_words = {
    .epsilon_key = "layer_norm_eps", .epsilon = 1e-5, .rotary = {.share = 0.25, .plain_turn_a_share = true}};

}  // namespace

ModelConfig parse_olmo2(const ConfigReader& in) {
  in.require_flag("attention_bias", false);
  ModelConfig c = parse_decoder(in, olmo2_words);
  c.norms = NormPlace::behind;
  c.head_norm = HeadNorm::whole;
  return c;
}

ModelConfig parse_olmo3(const ConfigReader& in) {
  in.require_flag("attention_bias", false);
  ModelConfig c = parse_decoder(in, olmo3_words);
  c.norms = NormPlace::behind;
  c.head_norm = HeadNorm::whole;
  return c;
}

Json write_olmo3(const ModelConfig& c) {
  return write_decoder(c, "Olmo3ForCausalLM", olmo3_words);
}

Json write_olmo2(const ModelConfig& c) {
  return write_decoder(c, "Olmo2ForCausalLM", olmo2_words);
}

void emit_olmo2(Blocks& b) {
  emit_decoder(b, olmo2_names);
}

ModelConfig parse_phi3(const ConfigReader& in) {
  return parse_decoder(in, phi3_words);
}

Json write_phi3(const ModelConfig& c) {
  Json json = write_decoder(c, "Phi3ForCausalLM", phi3_words);
  if (c.rotary.scaling.original > 0) json["original_max_position_embeddings"] = c.rotary.scaling.original;
  return json;
}

void emit_phi3(Blocks& b) {
  emit_decoder(b, phi3_names);
}

ModelConfig parse_stablelm(const ConfigReader& in) {
  in.require_flag("qk_layernorm", false);
  ModelConfig c = parse_decoder(in, stablelm_words);
  c.norm = NormKind::layer;
  if (in.flag_or("use_parallel_residual", false)) c.norms = NormPlace::shared;
  c.qkv_bias = in.flag_or("use_qkv_bias", false) ? Bias::present : Bias::absent;
  return c;
}

Json write_stablelm(const ModelConfig& c) {
  Json json = write_decoder(c, "StableLmForCausalLM", stablelm_words);
  json["use_qkv_bias"] = c.qkv_bias == Bias::present;
  json["use_parallel_residual"] = c.norms == NormPlace::shared;
  return json;
}

ModelConfig parse_granite(const ConfigReader& in) {
  ModelConfig c = parse_llama(in);
  c.embedding_scale = in.real_or("embedding_multiplier", 1, scale_range);
  c.residual_scale = in.real_or("residual_multiplier", 1, scale_range);
  c.score_scale = in.real_or("attention_multiplier", 1, scale_range);
  c.logit_scale = 1 / in.real_or("logits_scaling", 1, scale_range);
  return c;
}

Json write_granite(const ModelConfig& c) {
  Json json = write_llama(c);
  json["architectures"] = Json::array({"GraniteForCausalLM"});
  json["embedding_multiplier"] = c.embedding_scale;
  json["residual_multiplier"] = c.residual_scale;
  json["attention_multiplier"] = c.score_scale;
  json["logits_scaling"] = 1 / c.logit_scale;
  return json;
}

const TensorNames gptj_tensors = {.prefix = "transformer.", .embedding = "wte.weight"};

ModelConfig parse_gptj(const ConfigReader& in) {
  ModelConfig c;
  c.context = in.count("n_positions");
  c.d_model = in.count("n_embd");
  c.layers = in.count("n_layer");
  c.heads = c.kv_heads = in.count("n_head");
  c.head_dim = head_dim_or(in, 0, c);
  c.d_ff = in.count_or("n_inner", 4 * c.d_model);
  c.activation = in.activation_or("activation_function", "gelu_new");
  c.norm = NormKind::layer;
  c.norms = NormPlace::shared;
  c.norm_epsilon = in.real_or("layer_norm_epsilon", 1e-5, norm_epsilon_range);
  c.mlp_bias = Bias::present;
  c.tied_head = in.flag_or("tie_word_embeddings", false);
  c.rotary.columns = in.count_or("rotary_dim", 64);
  if (c.rotary.columns > c.head_dim || c.rotary.columns % 2 != 0)
    fail_user("{}: 'rotary_dim' lets {} of {} columns turn, an even number of them is needed", in.file(),
              c.rotary.columns, c.head_dim);
  return c;
}

Json write_gptj(const ModelConfig& c) {
  return {{"architectures", Json::array({"GPTJForCausalLM"})},
          {"n_positions", c.context},
          {"n_embd", c.d_model},
          {"n_layer", c.layers},
          {"n_head", c.heads},
          {"n_inner", c.d_ff},
          {"rotary_dim", c.rotary.columns},
          {"activation_function", config_word(c.activation)},
          {"layer_norm_epsilon", c.norm_epsilon},
          {"tie_word_embeddings", c.tied_head}};
}

void emit_gptj(Blocks& b) {
  emit_decoder(b, gptj_names);
}

const TensorNames falcon_tensors = {
    .prefix = "transformer.", .embedding = "word_embeddings.weight", .by_key_head = falcon_by_key_head};

ModelConfig parse_falcon(const ConfigReader& in) {
  in.require_flag("alibi", false);
  const bool is_newer = in.flag_or("new_decoder_architecture", false);
  ModelConfig c;
  c.context = in.count_or("max_position_embeddings", 2048);
  c.d_model = in.count("hidden_size");
  c.layers = in.count("num_hidden_layers");
  c.heads = in.count("num_attention_heads");
  const bool has_one_key = !is_newer && in.flag_or("multi_query", true);
  c.kv_heads = has_one_key ? 1 : (is_newer ? in.count_or("num_kv_heads", c.heads) : c.heads);
  c.head_dim = head_dim_or(in, 0, c);
  c.d_ff = in.count_or("ffn_hidden_size", 4 * c.d_model);
  c.activation = in.activation_or("activation", "gelu");
  c.norm = NormKind::layer;
  c.norms = falcon_norms(in, is_newer);
  c.norm_epsilon = in.real_or("layer_norm_epsilon", 1e-5, norm_epsilon_range);
  c.qkv_bias = c.out_bias = c.mlp_bias = in.flag_or("bias", false) ? Bias::present : Bias::absent;
  c.tied_head = in.flag_or("tie_word_embeddings", true);
  read_rotary(in, falcon_rotary, c);
  return c;
}

/// Grouped heads are the newer architecture's alone, which has one or two norms.
Json write_falcon(const ModelConfig& c) {
  const bool is_newer = c.norms == NormPlace::parallel || (c.kv_heads != 1 && c.kv_heads != c.heads);
  Json json = {{"architectures", Json::array({"FalconForCausalLM"})},
               {"max_position_embeddings", said_context(c)},
               {"hidden_size", c.d_model},
               {"num_hidden_layers", c.layers},
               {"num_attention_heads", c.heads},
               {"num_kv_heads", c.kv_heads},
               {"ffn_hidden_size", c.d_ff},
               {"activation", config_word(c.activation)},
               {"layer_norm_epsilon", c.norm_epsilon},
               {"bias", c.qkv_bias == Bias::present},
               {"alibi", false},
               {"new_decoder_architecture", is_newer},
               {"multi_query", c.kv_heads == 1},
               {"parallel_attn", c.norms != NormPlace::before},
               {"num_ln_in_parallel_attn", c.norms == NormPlace::parallel ? 2 : 1},
               {"tie_word_embeddings", c.tied_head}};
  write_rotary(c, falcon_rotary, json);
  return json;
}

void emit_falcon(Blocks& b) {
  emit_decoder(b, b.config().norms == NormPlace::parallel ? with_norms_apart(falcon_names) : falcon_names);
}

}  // namespace assay
