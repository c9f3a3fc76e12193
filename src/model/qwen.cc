#include "model/qwen.h"

#include "base/json.h"
#include "model/decoder.h"
#include "model/llama.h"

namespace assay {
namespace {

/// Rows of Q and K stand in GGUF as they do in folders: the pairs are halves there too.
constexpr GgufNames::Renamed qwen_whole[] = {{"token_embd.weight", "embed_tokens.weight"},
                                             {"output_norm.weight", "norm.weight"},
                                             {"output.weight", language_head_name}};
constexpr GgufNames::Renamed qwen_layer[] = {{"attn_norm.weight", "input_layernorm.weight"},
                                             {"attn_q.weight", "self_attn.q_proj.weight"},
                                             {"attn_k.weight", "self_attn.k_proj.weight"},
                                             {"attn_v.weight", "self_attn.v_proj.weight"},
                                             {"attn_q.bias", "self_attn.q_proj.bias"},
                                             {"attn_k.bias", "self_attn.k_proj.bias"},
                                             {"attn_v.bias", "self_attn.v_proj.bias"},
                                             {"attn_q_norm.weight", "self_attn.q_norm.weight"},
                                             {"attn_k_norm.weight", "self_attn.k_norm.weight"},
                                             {"attn_output.weight", "self_attn.o_proj.weight"},
                                             {"ffn_norm.weight", "post_attention_layernorm.weight"},
                                             {"ffn_gate.weight", "mlp.gate_proj.weight"},
                                             {"ffn_up.weight", "mlp.up_proj.weight"},
                                             {"ffn_down.weight", "mlp.down_proj.weight"}};

constexpr DecoderWords qwen_words = {.window_is_asked_for = true, .first_window_layer = 28};

}  // namespace

DecoderNames with_head_norms(DecoderNames names) {
  names.q_norm = "self_attn.q_norm";
  names.k_norm = "self_attn.k_norm";
  return names;
}

const GgufNames qwen2_gguf = {.architecture = "qwen2", .whole = qwen_whole, .layer = qwen_layer};
const GgufNames qwen3_gguf = {.architecture = "qwen3", .whole = qwen_whole, .layer = qwen_layer};

ModelConfig parse_qwen2(const ConfigReader& in) {
  ModelConfig c = parse_decoder(in, qwen_words);
  c.qkv_bias = Bias::present;
  return c;
}

Json write_qwen2(const ModelConfig& c) {
  return write_decoder(c, "Qwen2ForCausalLM", qwen_words);
}

ModelConfig parse_qwen3(const ConfigReader& in) {
  ModelConfig c = parse_decoder(in, qwen_words);
  if (!in.has("head_dim")) c.head_dim = 128;
  c.qkv_bias = c.out_bias = in.flag_or("attention_bias", false) ? Bias::present : Bias::absent;
  c.head_norm = HeadNorm::head;
  return c;
}

Json write_qwen3(const ModelConfig& c) {
  Json json = write_decoder(c, "Qwen3ForCausalLM", qwen_words);
  json["attention_bias"] = c.qkv_bias == Bias::present;
  return json;
}

void emit_qwen3(Blocks& b) {
  emit_decoder(b, with_head_norms(llama_names));
}

}  // namespace assay
