#include <fmt/format.h>

#include "model/blocks.h"
#include "model/checkpoint.h"

namespace assay {
namespace {

/// Names of one encoder layer's parameters; BERT and DistilBERT differ in nothing else.
struct EncoderLayerNames {
  std::string query, key, value, attention_out, attention_norm, up, down, output_norm;
};

EncoderLayerNames bert_names(std::int64_t layer) {
  const std::string p = fmt::format("encoder.layer.{}.", layer);
  return {p + "attention.self.query",
          p + "attention.self.key",
          p + "attention.self.value",
          p + "attention.output.dense",
          p + "attention.output.LayerNorm",
          p + "intermediate.dense",
          p + "output.dense",
          p + "output.LayerNorm"};
}

EncoderLayerNames distilbert_names(std::int64_t layer) {
  const std::string p = fmt::format("transformer.layer.{}.", layer);
  return {p + "attention.q_lin", p + "attention.k_lin", p + "attention.v_lin", p + "attention.out_lin",
          p + "sa_layer_norm",   p + "ffn.lin1",        p + "ffn.lin2",        p + "output_layer_norm"};
}

/// ln(x + f(x)) twice: attention, then the MLP (Devlin et al. 2018).
ValueId encoder_block(Blocks& b, ValueId x, const EncoderLayerNames& names, std::int64_t layer) {
  const ModelConfig& c = b.config();
  const std::string path = fmt::format("layers.{}", layer);
  b.at(path + ".attn.q_proj", Role::attention);
  const ValueId q = b.linear(x, names.query, c.d_model, Bias::present);
  b.at(path + ".attn.k_proj", Role::attention);
  const ValueId k = b.linear(x, names.key, c.d_model, Bias::present);
  b.at(path + ".attn.v_proj", Role::attention);
  const ValueId v = b.linear(x, names.value, c.d_model, Bias::present);
  ValueId h = b.attention(path + ".attn", q, k, v);
  b.at(path + ".attn.out_proj", Role::attention);
  h = b.linear(h, names.attention_out, c.d_model, Bias::present);
  h = b.add(x, b.dropout(h));
  b.at(path + ".ln1", Role::norm);
  x = b.layer_norm(h, names.attention_norm);
  b.at(path + ".mlp.up_proj", Role::mlp);
  h = b.activation(b.linear(x, names.up, c.d_ff, Bias::present), c.activation);
  b.at(path + ".mlp.down_proj", Role::mlp);
  h = b.linear(h, names.down, c.d_model, Bias::present);
  h = b.add(x, b.dropout(h));
  b.at(path + ".ln2", Role::norm);
  return b.layer_norm(h, names.output_norm);
}

ValueId embeddings(Blocks& b) {
  const ModelConfig& c = b.config();
  b.at("embeddings", Role::embedding);
  ValueId x = b.token_embedding(embedding_name(c.family));
  x = b.add_rows(x, "embeddings.position_embeddings.weight", c.context, RowChoice::by_position);
  // Every token is of type 0: single sentences only.
  if (c.token_types > 0) x = b.add_rows(x, "embeddings.token_type_embeddings.weight", c.token_types, RowChoice::first);
  b.at("embeddings.norm", Role::norm);
  x = b.dropout(b.layer_norm(x, "embeddings.LayerNorm"));
  b.hidden(0, x);
  return x;
}

/// First token, one dense layer, the classifier.
void classifier(Blocks& b, ValueId x, const std::string& dense, Activation function) {
  const ModelConfig& c = b.config();
  b.at("head.dense", Role::head);
  x = b.first_row(x);
  x = b.activation(b.linear(x, dense, c.d_model, Bias::present), function);
  b.at("head.classifier", Role::head);
  b.output(b.linear(b.dropout(x), "classifier", c.labels, Bias::present));
}

void head(Blocks& b, ValueId x, const std::string& dense, Activation function) {
  if (b.config().task == Task::classification) return classifier(b, x, dense, function);
  b.at("head.mean_pool", Role::head);
  b.output(b.mean_pool(x));
}

void encoder(Blocks& b, EncoderLayerNames (*names)(std::int64_t), const std::string& dense, Activation function) {
  ValueId x = embeddings(b);
  for (std::int64_t layer = 0; layer < b.config().layers; ++layer) {
    x = encoder_block(b, x, names(layer), layer);
    b.hidden(layer + 1, x);
  }
  head(b, x, dense, function);
}

}  // namespace

void emit_bert(Blocks& b) {
  encoder(b, bert_names, "pooler.dense", Activation::tanh);
}

void emit_distilbert(Blocks& b) {
  encoder(b, distilbert_names, "pre_classifier", Activation::relu);
}

}  // namespace assay
