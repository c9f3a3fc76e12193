#include "model/encoder.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/json.h"
#include "base/printable.h"

namespace assay {
namespace {

/// What ends or is the name of an architecture; the first one is written.
struct TaskWord {
  Task task;
  const char* ending;
};
constexpr TaskWord task_words[] = {{Task::classification, "ForSequenceClassification"},
                                   {Task::token_classification, "ForTokenClassification"},
                                   {Task::masked_language_model, "ForMaskedLM"},
                                   {Task::embedding, "Model"}};
/// It has a masked language model's head, and another one that is not used.
constexpr const char* masked_and_next_sentence = "BertForPreTraining";

Task task_of(const ConfigReader& in) {
  if (!in.has("architectures")) return Task::embedding;
  const Json& list = in.json().at("architectures");
  const bool named = list.is_array() && !list.empty() && list[0].is_string();
  const std::string first = named ? list[0].get<std::string>() : "";
  if (first == masked_and_next_sentence) return Task::masked_language_model;
  for (const TaskWord& word : task_words) {
    if (first.find(word.ending) != std::string::npos) return word.task;
  }
  return Task::embedding;
}

std::string architecture_of(Task task, const std::string& family) {
  for (const TaskWord& word : task_words) {
    if (word.task == task) return family + word.ending;
  }
  fail_assertion("a task that encoders have", __FILE__, __LINE__);
}

std::int64_t label_count(const ConfigReader& in) {
  if (in.has("id2label") && in.json().at("id2label").is_object() && !in.json().at("id2label").empty()) {
    return static_cast<std::int64_t>(in.json().at("id2label").size());
  }
  return in.count_or("num_labels", 2);
}

/// Empty where they are numbers in words, or not one for each class.
std::vector<std::string> label_names(const ConfigReader& in, std::int64_t labels) {
  std::vector<std::string> names;
  if (!in.has("id2label") || !in.json().at("id2label").is_object()) return names;
  const Json& words = in.json().at("id2label");
  for (std::int64_t label = 0; label < labels; ++label) {
    const auto word = words.find(std::to_string(label));
    if (word == words.end() || !word->is_string() || *word == fmt::format("LABEL_{}", label)) return {};
    names.push_back(word->get<std::string>());
  }
  return names;
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

void classify_sequence(Blocks& b, ValueId x, const EncoderHeads& heads) {
  const ModelConfig& c = b.config();
  b.at("head.dense", Role::head);
  x = b.pooled(x, Pooling::first);
  x = b.activation(b.linear(x, heads.dense, c.d_model, Bias::present), heads.function);
  b.at("head.classifier", Role::head);
  b.output(b.linear(b.dropout(x), heads.classifier, c.labels, Bias::present));
}

void classify_tokens(Blocks& b, ValueId x) {
  b.at("head.classifier", Role::head);
  b.output(b.linear(b.dropout(x), token_classifier_name, b.config().labels, Bias::present));
}

/// As wide as the token embedding, which is its table where they are tied.
void predict_masked(Blocks& b, ValueId x, const EncoderHeads& heads) {
  const ModelConfig& c = b.config();
  const std::int64_t width = c.embedding_width > 0 ? c.embedding_width : c.d_model;
  b.at("head.transform", Role::head);
  x = b.linear(x, heads.transform, width, Bias::present);
  x = b.activation(x, heads.transform_function.value_or(c.activation));
  b.at("head.norm", Role::norm);
  x = b.layer_norm(x, heads.transform_norm);
  b.at("head", Role::head);
  b.output(b.vocabulary_logits(x, heads.vocabulary_bias));
}

}  // namespace

ModelConfig parse_encoder(const ConfigReader& in) {
  ModelConfig c;
  c.task = task_of(in);
  c.context = in.count("max_position_embeddings");
  c.labels = label_count(in);
  c.label_names = label_names(in, c.labels);
  c.outputs = head_outputs(in, c.labels);
  c.tied_head = in.flag_or("tie_word_embeddings", true);
  return c;
}

Json write_encoder(const ModelConfig& c, const std::string& family) {
  Json json = {{"max_position_embeddings", c.context}, {"tie_word_embeddings", c.tied_head}};
  json["architectures"] = Json::array({architecture_of(c.task, family)});
  Json id2label = Json::object();
  Json label2id = Json::object();
  for (std::int64_t label = 0; label < c.labels; ++label) {
    const bool has_name = !c.label_names.empty();
    const std::string word = has_name ? c.label_names[static_cast<std::size_t>(label)] : fmt::format("LABEL_{}", label);
    id2label[std::to_string(label)] = word;
    label2id[word] = label;
  }
  json["id2label"] = id2label;
  json["label2id"] = label2id;
  if (c.outputs == Outputs::scores && c.labels > 1) json["problem_type"] = "regression";
  return json;
}

EncoderLayerNames bert_layer_names(std::int64_t layer) {
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

ValueId encoder_block(Blocks& b, ValueId x, const EncoderLayerNames& names, std::int64_t layer, const Attend& attend) {
  const ModelConfig& c = b.config();
  const std::string path = fmt::format("layers.{}", layer);
  b.at(path + ".attn.q_proj", Role::attention);
  const ValueId q = b.linear(x, names.query, c.d_model, Bias::present);
  b.at(path + ".attn.k_proj", Role::attention);
  const ValueId k = b.linear(x, names.key, c.d_model, Bias::present);
  b.at(path + ".attn.v_proj", Role::attention);
  const ValueId v = b.linear(x, names.value, c.d_model, Bias::present);
  ValueId h = attend(path + ".attn", q, k, v);
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

void emit_embedding(Blocks& b, ValueId x) {
  b.at("head.pool", Role::head);
  b.output(b.pooled(x, b.config().pooling));
}

void emit_heads(Blocks& b, ValueId x, const EncoderHeads& heads) {
  switch (b.config().task) {
    case Task::classification:
      return classify_sequence(b, x, heads);
    case Task::token_classification:
      return classify_tokens(b, x);
    case Task::masked_language_model:
      return predict_masked(b, x, heads);
    case Task::embedding:
    case Task::language_model:
      return emit_embedding(b, x);
  }
}

}  // namespace assay
