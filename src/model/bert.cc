#include "model/bert.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/json.h"
#include "base/printable.h"
#include "model/blocks.h"
#include "model/config_reader.h"

namespace assay {
namespace {

constexpr const char* bert_task_head[] = {"pooler.", "classifier."};
constexpr const char* roberta_task_head[] = {"classifier."};
constexpr const char* distilbert_task_head[] = {"pre_classifier.", "classifier."};
/// Of masked language models, next sentences and questions; the pooler goes where there is no classifier.
constexpr const char* bert_unused[] = {"cls.", "pooler.", "qa_outputs."};
constexpr const char* roberta_unused[] = {"lm_head.", "pooler.", "qa_outputs."};
constexpr const char* electra_unused[] = {"discriminator_predictions.", "generator_predictions.", "generator_lm_head.",
                                          "qa_outputs."};
constexpr const char* distilbert_unused[] = {"vocab_transform.", "vocab_layer_norm.", "vocab_projector.",
                                             "qa_outputs."};

Task encoder_task(const ConfigReader& in) {
  if (!in.has("architectures")) return Task::embedding;
  const Json& list = in.json().at("architectures");
  const bool named = list.is_array() && !list.empty() && list[0].is_string();
  const std::string first = named ? list[0].get<std::string>() : "";
  return first.find("ForSequenceClassification") != std::string::npos ? Task::classification : Task::embedding;
}

std::int64_t label_count(const ConfigReader& in) {
  if (in.has("id2label") && in.json().at("id2label").is_object() && !in.json().at("id2label").empty()) {
    return static_cast<std::int64_t>(in.json().at("id2label").size());
  }
  return in.count_or("num_labels", 2);
}

/// One output has no softmax to speak of; several may be regressed, or be labels that do not exclude one another.
Outputs head_outputs(const ConfigReader& in, std::int64_t labels) {
  const std::string problem = in.text_or("problem_type", "");
  if (problem == "regression" || problem == "multi_label_classification") return Outputs::scores;
  if (!problem.empty() && problem != "single_label_classification") {
    fail_user(
        "{}: 'problem_type' is '{}'; regression, single_label_classification and multi_label_classification are known",
        in.file(), printable(problem, 60));
  }
  return labels == 1 ? Outputs::scores : Outputs::classes;
}

/// What every encoder's configuration says in the same words.
ModelConfig parse_encoder(const ConfigReader& in) {
  ModelConfig c;
  c.task = encoder_task(in);
  c.context = in.count("max_position_embeddings");
  c.labels = label_count(in);
  c.outputs = head_outputs(in, c.labels);
  return c;
}

/// Likewise. How many classes there are is read from their names.
Json write_encoder(const ModelConfig& c, const std::string& family) {
  const bool classifies = c.task == Task::classification;
  Json json = {{"max_position_embeddings", c.context}};
  json["architectures"] = Json::array({family + (classifies ? "ForSequenceClassification" : "Model")});
  Json id2label = Json::object();
  Json label2id = Json::object();
  for (std::int64_t label = 0; label < c.labels; ++label) {
    const std::string word = fmt::format("LABEL_{}", label);
    id2label[std::to_string(label)] = word;
    label2id[word] = label;
  }
  json["id2label"] = id2label;
  json["label2id"] = label2id;
  if (c.outputs == Outputs::scores && c.labels > 1) json["problem_type"] = "regression";
  return json;
}

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

ValueId encoder_embeddings(Blocks& b) {
  const ModelConfig& c = b.config();
  b.at("embeddings", Role::embedding);
  ValueId x = b.token_embedding();
  const char* const positions = "embeddings.position_embeddings.weight";
  x = c.position_base > 0 ? b.add_counted_positions(x, positions, c.context + c.position_base + 1, Counted::ids)
                          : b.add_rows(x, positions, c.context, RowChoice::by_position);
  // Every token is of type 0: single sentences only.
  if (c.token_types > 0) x = b.add_rows(x, "embeddings.token_type_embeddings.weight", c.token_types, RowChoice::first);
  b.at("embeddings.norm", Role::norm);
  x = b.dropout(b.layer_norm(x, "embeddings.LayerNorm"));
  if (c.embedding_width > 0) {
    b.at("embeddings.project", Role::embedding);
    x = b.linear(x, "embeddings_project", c.d_model, Bias::present);
  }
  b.hidden(0, x);
  return x;
}

/// First token, one dense layer, the classifier.
struct ClassifierHead {
  const char* dense;
  Activation function;
  const char* out = "classifier";
};

void classifier(Blocks& b, ValueId x, const ClassifierHead& head) {
  const ModelConfig& c = b.config();
  b.at("head.dense", Role::head);
  x = b.first_row(x);
  x = b.activation(b.linear(x, head.dense, c.d_model, Bias::present), head.function);
  b.at("head.classifier", Role::head);
  b.output(b.linear(b.dropout(x), head.out, c.labels, Bias::present));
}

void encoder(Blocks& b, EncoderLayerNames (*names)(std::int64_t), const ClassifierHead& head) {
  ValueId x = encoder_embeddings(b);
  for (std::int64_t layer = 0; layer < b.config().layers; ++layer) {
    x = encoder_block(b, x, names(layer), layer);
    b.hidden(layer + 1, x);
  }
  if (b.config().task == Task::classification) return classifier(b, x, head);
  b.at("head.mean_pool", Role::head);
  b.output(b.mean_pool(x));
}

}  // namespace

const TensorNames bert_tensors = {.prefix = "bert.",
                                  .embedding = "embeddings.word_embeddings.weight",
                                  .task_head = bert_task_head,
                                  .unused = bert_unused};

const TensorNames distilbert_tensors = {.prefix = "distilbert.",
                                        .embedding = "embeddings.word_embeddings.weight",
                                        .task_head = distilbert_task_head,
                                        .unused = distilbert_unused};

const TensorNames roberta_tensors = {.prefix = "roberta.",
                                     .embedding = "embeddings.word_embeddings.weight",
                                     .task_head = roberta_task_head,
                                     .unused = roberta_unused};

const TensorNames electra_tensors = {.prefix = "electra.",
                                     .embedding = "embeddings.word_embeddings.weight",
                                     .task_head = roberta_task_head,
                                     .unused = electra_unused};

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
  if (c.position_base < 1 || c.position_base + 1 >= c.context)
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
  encoder(b, bert_names, {"pooler.dense", Activation::tanh});
}

void emit_roberta(Blocks& b) {
  encoder(b, bert_names, {"classifier.dense", Activation::tanh, "classifier.out_proj"});
}

void emit_electra(Blocks& b) {
  encoder(b, bert_names, {"classifier.dense", Activation::gelu_erf, "classifier.out_proj"});
}

void emit_distilbert(Blocks& b) {
  encoder(b, distilbert_names, {"pre_classifier", Activation::relu});
}

}  // namespace assay
