#include "model/bert.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/json.h"
#include "model/encoder.h"

namespace assay {
namespace {

constexpr const char* bert_task_head[] = {"pooler.", "classifier."};
constexpr const char* roberta_task_head[] = {"classifier.dense.", "classifier.out_proj."};
constexpr const char* distilbert_task_head[] = {"pre_classifier.", "classifier."};
/// Of masked language models, next sentences and questions; the pooler goes where there is no classifier.
constexpr const char* bert_unused[] = {"cls.", "pooler.", "qa_outputs."};
constexpr const char* roberta_unused[] = {"lm_head.", "pooler.", "qa_outputs."};
constexpr const char* electra_unused[] = {"discriminator_predictions.", "generator_predictions.", "generator_lm_head.",
                                          "qa_outputs."};
constexpr const char* distilbert_unused[] = {"vocab_transform.", "vocab_layer_norm.", "vocab_projector.",
                                             "qa_outputs."};

EncoderLayerNames distilbert_names(std::int64_t layer) {
  const std::string p = fmt::format("transformer.layer.{}.", layer);
  return {p + "attention.q_lin", p + "attention.k_lin", p + "attention.v_lin", p + "attention.out_lin",
          p + "sa_layer_norm",   p + "ffn.lin1",        p + "ffn.lin2",        p + "output_layer_norm"};
}

ValueId encoder_embeddings(Blocks& b) {
  const ModelConfig& c = b.config();
  b.at("embeddings", Role::embedding);
  ValueId x = b.token_embedding();
  const char* const positions = "embeddings.position_embeddings.weight";
  x = c.position_base >= 0 ? b.add_counted_positions(x, positions, c.context + c.position_base + 1, Counted::ids)
                           : b.add_rows(x, positions, c.context, RowChoice::by_position);
  if (c.token_types > 0) x = b.add_token_types(x, "embeddings.token_type_embeddings.weight");
  b.at("embeddings.norm", Role::norm);
  x = b.dropout(b.layer_norm(x, "embeddings.LayerNorm"));
  if (c.embedding_width > 0) {
    b.at("embeddings.project", Role::embedding);
    x = b.linear(x, "embeddings_project", c.d_model, Bias::present);
  }
  b.hidden(0, x);
  return x;
}

void encoder(Blocks& b, EncoderLayerNames (*names)(std::int64_t), const EncoderHeads& heads) {
  ValueId x = encoder_embeddings(b);
  for (std::int64_t layer = 0; layer < b.config().layers; ++layer) {
    x = encoder_block(b, x, names(layer), layer, [&](const std::string& path, ValueId q, ValueId k, ValueId v) {
      return b.attention(path, q, k, v);
    });
    b.hidden(layer + 1, x);
  }
  emit_heads(b, x, heads);
}

constexpr EncoderHeads bert_heads = {.dense = "pooler.dense",
                                     .function = Activation::tanh,
                                     .classifier = "classifier",
                                     .transform = "cls.predictions.transform.dense",
                                     .transform_function = std::nullopt,
                                     .transform_norm = "cls.predictions.transform.LayerNorm",
                                     .vocabulary_bias = "cls.predictions.bias"};
constexpr EncoderHeads roberta_heads = {.dense = "classifier.dense",
                                        .function = Activation::tanh,
                                        .classifier = "classifier.out_proj",
                                        .transform = "lm_head.dense",
                                        .transform_function = Activation::gelu_erf,
                                        .transform_norm = "lm_head.layer_norm",
                                        .vocabulary_bias = "lm_head.bias"};
constexpr EncoderHeads electra_heads = {.dense = "classifier.dense",
                                        .function = Activation::gelu_erf,
                                        .classifier = "classifier.out_proj",
                                        .transform = "generator_predictions.dense",
                                        .transform_function = Activation::gelu_erf,
                                        .transform_norm = "generator_predictions.LayerNorm",
                                        .vocabulary_bias = "generator_lm_head.bias"};
constexpr EncoderHeads distilbert_heads = {.dense = "pre_classifier",
                                           .function = Activation::relu,
                                           .classifier = "classifier",
                                           .transform = "vocab_transform",
                                           .transform_function = std::nullopt,
                                           .transform_norm = "vocab_layer_norm",
                                           .vocabulary_bias = "vocab_projector.bias"};

/// The head's bias is that of its last linear layer, too: files hold one of the two, or both.
constexpr TensorNames::OtherName bert_other_names[] = {{"cls.predictions.decoder.bias", "cls.predictions.bias"}};
constexpr TensorNames::OtherName roberta_other_names[] = {{"lm_head.decoder.bias", "lm_head.bias"}};

}  // namespace

const TensorNames bert_tensors = {.prefix = "bert.",
                                  .embedding = "embeddings.word_embeddings.weight",
                                  .task_head = bert_task_head,
                                  .unused = bert_unused,
                                  .other_names = bert_other_names,
                                  .head = "cls.predictions.decoder.weight"};

const TensorNames distilbert_tensors = {.prefix = "distilbert.",
                                        .embedding = "embeddings.word_embeddings.weight",
                                        .task_head = distilbert_task_head,
                                        .unused = distilbert_unused,
                                        .head = "vocab_projector.weight"};

const TensorNames roberta_tensors = {.prefix = "roberta.",
                                     .embedding = "embeddings.word_embeddings.weight",
                                     .task_head = roberta_task_head,
                                     .unused = roberta_unused,
                                     .other_names = roberta_other_names,
                                     .head = "lm_head.decoder.weight"};

const TensorNames electra_tensors = {.prefix = "electra.",
                                     .embedding = "embeddings.word_embeddings.weight",
                                     .task_head = roberta_task_head,
                                     .unused = electra_unused,
                                     .head = "generator_lm_head.weight"};

ModelConfig parse_bert(const ConfigReader& in) {
  if (const std::string kind = in.text_or("position_embedding_type", "absolute"); kind != "absolute") {
    fail_user("{}: 'position_embedding_type' = '{}' is not supported", in.file(), kind);
  }
  in.require_flag("is_decoder", false);
  ModelConfig c = parse_encoder(in);
  c.d_model = in.count("hidden_size");
  c.layers = in.count("num_hidden_layers");
  c.heads = c.kv_heads = in.count("num_attention_heads");
  c.d_ff = in.count("intermediate_size");
  c.token_types = in.count_or("type_vocab_size", 2);
  c.activation = in.activation_or("hidden_act", "gelu");
  c.norm_epsilon = in.real_or("layer_norm_eps", 1e-12, norm_epsilon_range);
  return c;
}

/// The id of padding is the number before the first position.
ModelConfig parse_roberta(const ConfigReader& in) {
  ModelConfig c = parse_bert(in);
  c.position_base = in.whole_or("pad_token_id", 1);
  if (c.position_base + 1 >= c.context)
    fail_user("{}: 'pad_token_id' {} leaves no positions of {}", in.file(), c.position_base, c.context);
  c.context -= c.position_base + 1;
  return c;
}

ModelConfig parse_electra(const ConfigReader& in) {
  ModelConfig c = parse_bert(in);
  const std::int64_t width = in.count_or("embedding_size", 128);
  if (width != c.d_model) c.embedding_width = width;
  return c;
}

ModelConfig parse_distilbert(const ConfigReader& in) {
  ModelConfig c = parse_encoder(in);
  c.d_model = in.count("dim");
  c.layers = in.count("n_layers");
  c.heads = c.kv_heads = in.count("n_heads");
  c.d_ff = in.count("hidden_dim");
  c.activation = in.activation_or("activation", "gelu");
  c.norm_epsilon = 1e-12;  // fixed in transformers' DistilBERT, not in its config
  return c;
}

namespace {

Json write_like_bert(const ModelConfig& c, const char* family) {
  Json json = write_encoder(c, family);
  json["hidden_size"] = c.d_model;
  json["num_hidden_layers"] = c.layers;
  json["num_attention_heads"] = c.heads;
  json["intermediate_size"] = c.d_ff;
  json["type_vocab_size"] = c.token_types;
  json["hidden_act"] = config_word(c.activation);
  json["layer_norm_eps"] = c.norm_epsilon;
  return json;
}

Json write_counted(const ModelConfig& c, const char* family) {
  Json json = write_like_bert(c, family);
  json["max_position_embeddings"] = c.context + c.position_base + 1;
  json["pad_token_id"] = c.position_base;
  return json;
}

}  // namespace

Json write_bert(const ModelConfig& c) {
  return write_like_bert(c, "Bert");
}

Json write_roberta(const ModelConfig& c) {
  return write_counted(c, "Roberta");
}

Json write_xlm_roberta(const ModelConfig& c) {
  return write_counted(c, "XLMRoberta");
}

Json write_electra(const ModelConfig& c) {
  Json json = write_like_bert(c, "Electra");
  json["embedding_size"] = c.embedding_width > 0 ? c.embedding_width : c.d_model;
  return json;
}

Json write_distilbert(const ModelConfig& c) {
  Json json = write_encoder(c, "DistilBert");
  json["dim"] = c.d_model;
  json["n_layers"] = c.layers;
  json["n_heads"] = c.heads;
  json["hidden_dim"] = c.d_ff;
  json["activation"] = config_word(c.activation);
  return json;
}

void emit_bert(Blocks& b) {
  encoder(b, bert_layer_names, bert_heads);
}

void emit_roberta(Blocks& b) {
  encoder(b, bert_layer_names, roberta_heads);
}

void emit_electra(Blocks& b) {
  encoder(b, bert_layer_names, electra_heads);
}

void emit_distilbert(Blocks& b) {
  encoder(b, distilbert_names, distilbert_heads);
}

}  // namespace assay
