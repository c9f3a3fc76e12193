#include <fmt/format.h>

#include "model/blocks.h"
#include "model/checkpoint.h"

namespace assay {
namespace {

/// x + f(ln(x)) twice: attention, then the MLP (Radford et al. 2019).
ValueId block(Blocks& b, ValueId x, std::int64_t layer) {
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

void emit_gpt2(Blocks& b) {
  const ModelConfig& c = b.config();
  b.at("embeddings", Role::embedding);
  ValueId x = b.token_embedding(embedding_name(c.family));
  x = b.add_rows(x, "wpe.weight", c.context, RowChoice::by_position);
  x = b.dropout(x);
  b.hidden(0, x);
  for (std::int64_t layer = 0; layer < c.layers; ++layer) {
    x = block(b, x, layer);
    b.hidden(layer + 1, x);
  }
  b.at("ln_f", Role::norm);
  x = b.layer_norm(x, "ln_f");
  b.language_head(x, c.tied_head ? embedding_name(c.family) : "lm_head.weight");
}

}  // namespace assay
