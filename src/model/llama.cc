#include <fmt/format.h>

#include "model/blocks.h"
#include "model/checkpoint.h"

namespace assay {
namespace {

/// What Llama and the CS336 model name differently; their arithmetic differs in the rotary pairs alone.
struct DecoderLayerNames {
  std::string attention_norm, q, k, v, o, mlp_norm, gate, up, down;
};

DecoderLayerNames llama_names(std::int64_t layer) {
  const std::string p = fmt::format("layers.{}.", layer);
  return {p + "input_layernorm",  p + "self_attn.q_proj", p + "self_attn.k_proj",
          p + "self_attn.v_proj", p + "self_attn.o_proj", p + "post_attention_layernorm",
          p + "mlp.gate_proj",    p + "mlp.up_proj",      p + "mlp.down_proj"};
}

DecoderLayerNames cs336_names(std::int64_t layer) {
  const std::string p = fmt::format("layers.{}.", layer);
  return {p + "ln1", p + "attn.q_proj", p + "attn.k_proj", p + "attn.v_proj", p + "attn.output_proj",
          p + "ln2", p + "ffn.w1",      p + "ffn.w3",      p + "ffn.w2"};
}

ValueId attention(Blocks& b, ValueId x, const DecoderLayerNames& names, const std::string& path) {
  const ModelConfig& c = b.config();
  const RotaryPairs pairs = c.family == Family::cs336 ? RotaryPairs::interleaved : RotaryPairs::halves;
  b.at(path + ".attn.q_proj", Role::attention);
  ValueId q = b.linear(x, names.q, c.heads * c.head_dim, Bias::absent);
  b.at(path + ".attn.k_proj", Role::attention);
  ValueId k = b.linear(x, names.k, c.kv_heads * c.head_dim, Bias::absent);
  b.at(path + ".attn.v_proj", Role::attention);
  const ValueId v = b.linear(x, names.v, c.kv_heads * c.head_dim, Bias::absent);
  b.at(path + ".attn.rope", Role::attention);
  q = b.rope(q, c.heads, pairs);
  k = b.rope(k, c.kv_heads, pairs);
  const ValueId h = b.attention(path + ".attn", q, k, v);
  b.at(path + ".attn.out_proj", Role::attention);
  return b.linear(h, names.o, c.d_model, Bias::absent);
}

/// down(f(gate(x)) * up(x))   (Shazeer 2020)
ValueId mlp(Blocks& b, ValueId x, const DecoderLayerNames& names, const std::string& path) {
  const ModelConfig& c = b.config();
  b.at(path + ".mlp.gate_proj", Role::mlp);
  const ValueId gate = b.activation(b.linear(x, names.gate, c.d_ff, Bias::absent), c.activation);
  b.at(path + ".mlp.up_proj", Role::mlp);
  const ValueId up = b.linear(x, names.up, c.d_ff, Bias::absent);
  b.at(path + ".mlp.gate", Role::mlp);
  const ValueId h = b.multiply(gate, up);
  b.at(path + ".mlp.down_proj", Role::mlp);
  return b.linear(h, names.down, c.d_model, Bias::absent);
}

ValueId decoder_block(Blocks& b, ValueId x, const DecoderLayerNames& names, std::int64_t layer) {
  const std::string path = fmt::format("layers.{}", layer);
  b.at(path + ".ln1", Role::norm);
  ValueId h = b.rms_norm(x, names.attention_norm);
  x = b.add(x, attention(b, h, names, path));
  b.at(path + ".ln2", Role::norm);
  h = b.rms_norm(x, names.mlp_norm);
  return b.add(x, mlp(b, h, names, path));
}

/// Pre-norm decoder with rotary positions (Touvron et al. 2023).
void decoder(Blocks& b, DecoderLayerNames (*names)(std::int64_t), const std::string& norm) {
  const ModelConfig& c = b.config();
  const char* const table = embedding_name(c.family);
  b.at("embeddings", Role::embedding);
  ValueId x = b.token_embedding(table);
  b.hidden(0, x);
  for (std::int64_t layer = 0; layer < c.layers; ++layer) {
    x = decoder_block(b, x, names(layer), layer);
    b.hidden(layer + 1, x);
  }
  b.at("ln_f", Role::norm);
  x = b.rms_norm(x, norm);
  b.language_head(x, c.tied_head ? table : "lm_head.weight");
}

}  // namespace

void emit_llama(Blocks& b) {
  decoder(b, llama_names, "norm");
}

void emit_cs336(Blocks& b) {
  decoder(b, cs336_names, "ln_final");
}

}  // namespace assay
