#include "model/config_json.h"

#include "base/error.h"
#include "base/json.h"
#include "model/checkpoint.h"

namespace assay {
namespace {

const char* activation_word(Activation activation) {
  switch (activation) {
    case Activation::gelu_erf:
      return "gelu";
    case Activation::gelu_tanh:
      return "gelu_new";
    case Activation::relu:
      return "relu";
    case Activation::silu:
      return "silu";
    default:
      break;
  }
  fail_assertion("an activation that configs can name", __FILE__, __LINE__);
}

/// How many classes there are is read from their names.
void add_task(Json& json, const ModelConfig& c, const std::string& family) {
  const bool classifies = c.task == Task::classification;
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
}

Json gpt2(const ModelConfig& c) {
  return {{"model_type", "gpt2"},
          {"architectures", Json::array({"GPT2LMHeadModel"})},
          {"n_positions", c.context},
          {"n_embd", c.d_model},
          {"n_layer", c.layers},
          {"n_head", c.heads},
          {"n_inner", c.d_ff},
          {"activation_function", activation_word(c.activation)},
          {"layer_norm_epsilon", c.norm_epsilon},
          {"tie_word_embeddings", c.tied_head}};
}

Json bert(const ModelConfig& c) {
  Json json = {{"model_type", "bert"},
               {"max_position_embeddings", c.context},
               {"hidden_size", c.d_model},
               {"num_hidden_layers", c.layers},
               {"num_attention_heads", c.heads},
               {"intermediate_size", c.d_ff},
               {"type_vocab_size", c.token_types},
               {"hidden_act", activation_word(c.activation)},
               {"layer_norm_eps", c.norm_epsilon}};
  add_task(json, c, "Bert");
  return json;
}

Json distilbert(const ModelConfig& c) {
  Json json = {{"model_type", "distilbert"},
               {"max_position_embeddings", c.context},
               {"dim", c.d_model},
               {"n_layers", c.layers},
               {"n_heads", c.heads},
               {"hidden_dim", c.d_ff},
               {"activation", activation_word(c.activation)}};
  add_task(json, c, "DistilBert");
  return json;
}

/// rope_theta stands in both places in which readers of different age look.
Json llama(const ModelConfig& c) {
  return {{"model_type", "llama"},
          {"architectures", Json::array({"LlamaForCausalLM"})},
          {"max_position_embeddings", c.context},
          {"hidden_size", c.d_model},
          {"num_hidden_layers", c.layers},
          {"num_attention_heads", c.heads},
          {"num_key_value_heads", c.kv_heads},
          {"head_dim", c.head_dim},
          {"intermediate_size", c.d_ff},
          {"hidden_act", activation_word(c.activation)},
          {"rms_norm_eps", c.norm_epsilon},
          {"rope_theta", c.rope_theta},
          {"rope_parameters", {{"rope_type", "default"}, {"rope_theta", c.rope_theta}}},
          {"attention_bias", false},
          {"mlp_bias", false},
          {"tie_word_embeddings", c.tied_head}};
}

Json cs336(const ModelConfig& c) {
  return {{"model_type", "cs336"},     {"context_length", c.context}, {"d_model", c.d_model},
          {"num_layers", c.layers},    {"num_heads", c.heads},        {"d_ff", c.d_ff},
          {"rope_theta", c.rope_theta}};
}

Json of_family(const ModelConfig& c) {
  switch (c.family) {
    case Family::gpt2:
      return gpt2(c);
    case Family::bert:
      return bert(c);
    case Family::distilbert:
      return distilbert(c);
    case Family::llama:
      return llama(c);
    case Family::cs336:
      return cs336(c);
  }
  fail_assertion("a known family", __FILE__, __LINE__);
}

}  // namespace

Json config_json(const ModelConfig& config) {
  Json json = of_family(config);
  json["vocab_size"] = config.vocab_size;
  json["initializer_range"] = config.initializer_range;
  if (config.family != Family::cs336)
    json["pad_token_id"] = config.padding_id ? Json(*config.padding_id) : Json(nullptr);
  return json;
}

std::string published_name(const std::string& parameter, Family family) {
  for (const char* head : {"lm_head.", "classifier.", "pre_classifier."}) {
    if (parameter.starts_with(head)) return parameter;
  }
  return family_prefix(family) + parameter;
}

}  // namespace assay
