#include "model/qwen.h"

#include "base/json.h"
#include "model/decoder.h"
#include "model/llama.h"

namespace assay {
namespace {

constexpr DecoderWords qwen_words = {
    .windowed = Windowed::listed, .window_is_asked_for = true, .first_window_layer = 28, .window = 4096};

}  // namespace

DecoderNames with_head_norms(DecoderNames names) {
  names.q_norm = "self_attn.q_norm";
  names.k_norm = "self_attn.k_norm";
  return names;
}

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
