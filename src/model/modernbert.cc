#include "model/modernbert.h"

#include <algorithm>

#include "base/error.h"
#include "base/json.h"
#include "base/printable.h"
#include "model/decoder.h"
#include "model/encoder.h"

namespace assay {
namespace {

constexpr DecoderNames modernbert_names = {.attention_norm = "attn_norm",
                                           .q = "attn.Wqkv",
                                           .k = nullptr,
                                           .v = nullptr,
                                           .out = "attn.Wo",
                                           .mlp_norm = "mlp_norm",
                                           .gate = "mlp.Wi",
                                           .up = nullptr,
                                           .down = "mlp.Wo",
                                           .last_norm = "final_norm",
                                           .embedding_norm = "embeddings.norm"};
constexpr RotaryWords modernbert_rotary = {
    .theta_key = "global_rope_theta", .theta = 160000, .window_theta = 10000, .window_theta_key = "local_rope_theta"};
constexpr const char* modernbert_task_head[] = {"head.", "classifier."};
constexpr const char* modernbert_unused[] = {"head.", "decoder."};

Bias said_bias(const ConfigReader& in, const char* key, Bias usual) {
  return in.flag_or(key, usual == Bias::present) ? Bias::present : Bias::absent;
}

/// `local_attention` is the whole width, the token's own position in its middle. The layers are those that
/// `layer_types` says (transformers 5), else all but the first of every so many.
std::vector<std::int64_t> windows_of(const ConfigReader& in, std::int64_t layers) {
  const std::int64_t window = in.count_or("local_attention", 128) / 2 + 1;
  const std::int64_t every = in.count_or("global_attn_every_n_layers", 3);
  const bool is_listed = in.has("layer_types");
  std::vector<std::int64_t> windows;
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    const bool has_window = is_listed ? is_window_layer(in, layer) : layer % every != 0;
    windows.push_back(has_window ? window : 0);
  }
  return windows;
}

struct PoolingName {
  const char* word;
  Pooling pooling;
};
constexpr PoolingName classifier_poolings[] = {{"cls", Pooling::first}, {"mean", Pooling::mean}};

Pooling classifier_pooling(const ConfigReader& in) {
  const std::string word = in.text_or("classifier_pooling", "cls");
  for (const PoolingName& known : classifier_poolings) {
    if (word == known.word) return known.pooling;
  }
  fail_user("{}: 'classifier_pooling' is '{}'; cls and mean are known", in.file(), printable(word, 40));
}

const char* pooling_word(Pooling pooling) {
  return pooling == Pooling::first ? "cls" : "mean";
}

/// norm(f(dense(x))), before what classifies or predicts.
ValueId prediction_head(Blocks& b, ValueId x) {
  const ModelConfig& c = b.config();
  b.at("head.dense", Role::head);
  x = b.activation(b.linear(x, "head.dense", c.d_model, c.head_bias), c.head_activation);
  b.at("head.norm", Role::norm);
  return b.layer_norm(x, "head.norm");
}

void classify(Blocks& b, ValueId x) {
  const ValueId head = prediction_head(b, x);
  b.at("head.classifier", Role::head);
  b.output(b.linear(head, token_classifier_name, b.config().labels, Bias::present));
}

void predict(Blocks& b, ValueId x) {
  const ValueId head = prediction_head(b, x);
  b.at("head", Role::head);
  b.output(b.vocabulary_logits(head, b.config().vocabulary_bias == Bias::present ? "decoder.bias" : nullptr));
}

}  // namespace

const TensorNames modernbert_tensors = {.prefix = "model.",
                                        .embedding = "embeddings.tok_embeddings.weight",
                                        .task_head = modernbert_task_head,
                                        .unused = modernbert_unused,
                                        .head = "decoder.weight"};

ModelConfig parse_modernbert(const ConfigReader& in) {
  ModelConfig c = parse_encoder(in);
  c.d_model = in.count("hidden_size");
  c.layers = in.count("num_hidden_layers");
  c.heads = c.kv_heads = in.count("num_attention_heads");
  c.head_dim = head_dim_or(in, 0, c);
  c.d_ff = in.count("intermediate_size");
  c.activation = in.activation_or("hidden_activation", "gelu");
  c.norm = NormKind::layer;
  c.norm_epsilon = in.real_or("norm_eps", 1e-5, norm_epsilon_range);
  c.norm_bias = said_bias(in, "norm_bias", Bias::absent);
  c.qkv_bias = c.out_bias = said_bias(in, "attention_bias", Bias::absent);
  c.mlp_bias = said_bias(in, "mlp_bias", Bias::absent);
  c.head_bias = said_bias(in, "classifier_bias", Bias::absent);
  c.vocabulary_bias = said_bias(in, "decoder_bias", Bias::present);
  c.head_activation = in.activation_or("classifier_activation", "gelu");
  c.classifier_pooling = classifier_pooling(in);
  c.windows = windows_of(in, c.layers);
  read_rotary(in, modernbert_rotary, c);
  return c;
}

Json write_modernbert(const ModelConfig& c) {
  Json json = write_encoder(c, "ModernBert");
  json.update({{"hidden_size", c.d_model},
               {"num_hidden_layers", c.layers},
               {"num_attention_heads", c.heads},
               {"intermediate_size", c.d_ff},
               {"hidden_activation", config_word(c.activation)},
               {"norm_eps", c.norm_epsilon},
               {"norm_bias", c.norm_bias == Bias::present},
               {"attention_bias", c.qkv_bias == Bias::present},
               {"mlp_bias", c.mlp_bias == Bias::present},
               {"classifier_bias", c.head_bias == Bias::present},
               {"decoder_bias", c.vocabulary_bias == Bias::present},
               {"classifier_activation", config_word(c.head_activation)},
               {"classifier_pooling", pooling_word(c.classifier_pooling)},
               {"layer_types", layer_types(c)}});
  const std::int64_t window = *std::max_element(c.windows.begin(), c.windows.end());
  if (window > 0) json["local_attention"] = std::max<std::int64_t>(1, 2 * (window - 1));
  write_rotary(c, modernbert_rotary, json);
  return json;
}

void emit_modernbert(Blocks& b) {
  const ValueId x = emit_blocks(b, modernbert_names);
  switch (b.config().task) {
    case Task::classification:
      b.at("head.pool", Role::head);
      return classify(b, b.pooled(x, b.config().classifier_pooling));
    case Task::token_classification:
      return classify(b, x);
    case Task::masked_language_model:
      return predict(b, x);
    case Task::embedding:
    case Task::language_model:
      return emit_embedding(b, x);
  }
}

}  // namespace assay
