#include "model/config.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/json.h"
#include "model/testing.h"

namespace assay {
namespace {

Json gpt2_json() {
  return {{"model_type", "gpt2"}, {"vocab_size", 97}, {"n_positions", 24},
          {"n_embd", 32},         {"n_layer", 2},     {"n_head", 4}};
}

Json llama_json() {
  return {{"model_type", "llama"},  {"vocab_size", 97},         {"max_position_embeddings", 24}, {"hidden_size", 32},
          {"num_hidden_layers", 2}, {"num_attention_heads", 4}, {"intermediate_size", 44}};
}

Json with(Json json, const char* key, Json value) {
  json[key] = std::move(value);
  return json;
}

ModelConfig parsed(const Json& json) {
  return parse_config(json, "config.json");
}

std::string fault_of(const Json& json) {
  return user_error_of([&] { parsed(json); });
}

TEST(Config, Gpt2sDefaultsAreTheFamilys) {
  const ModelConfig c = parsed(gpt2_json());
  EXPECT_EQ(c.d_ff, 128) << "n_inner absent: four times the width";
  EXPECT_EQ(c.head_dim, 8);
  EXPECT_EQ(c.activation, Activation::gelu_tanh);
  EXPECT_EQ(c.norm_epsilon, 1e-5);
  EXPECT_TRUE(c.tied_head);
  EXPECT_EQ(parsed(with(gpt2_json(), "n_inner", nullptr)).d_ff, 128);
  EXPECT_EQ(parsed(with(gpt2_json(), "n_inner", 56)).d_ff, 56);
}

TEST(Config, GeluNamesTheErfFormAndTheOthersTheTanhForm) {
  EXPECT_EQ(parsed(with(gpt2_json(), "activation_function", "gelu")).activation, Activation::gelu_erf);
  EXPECT_EQ(parsed(with(gpt2_json(), "activation_function", "gelu_new")).activation, Activation::gelu_tanh);
  EXPECT_EQ(parsed(with(gpt2_json(), "activation_function", "gelu_pytorch_tanh")).activation, Activation::gelu_tanh);
}

TEST(Config, RopeThetaIsReadFromBothPlaces) {
  EXPECT_EQ(parsed(llama_json()).rotary.theta, 10000);
  EXPECT_EQ(parsed(with(llama_json(), "rope_theta", 250000.0)).rotary.theta, 250000);
  const Json parameters = {{"rope_type", "default"}, {"rope_theta", 500000.0}};
  EXPECT_EQ(parsed(with(llama_json(), "rope_parameters", parameters)).rotary.theta, 500000);
  EXPECT_EQ(parsed(with(llama_json(), "rope_scaling", {{"type", "default"}})).rotary.theta, 10000);
}

/// Of Gemma 3 in the words of both ages of transformers.
TEST(Config, LayersWithWindowsMayTurnByABaseOfTheirOwn) {
  const Json old = with(with(with(llama_json(), "model_type", "gemma3_text"), "head_dim", 4), "rope_scaling",
                        {{"rope_type", "linear"}, {"factor", 8.0}});
  const ModelConfig before = parsed(with(old, "rope_local_base_freq", 300.0));
  EXPECT_EQ(before.rotary.theta, 1e6);
  EXPECT_EQ(before.rotary.scaling.factor, 8);
  EXPECT_EQ(before.window_rotary, Rotary{.theta = 300});
  const Json by_layer = {{"full_attention", {{"rope_type", "linear"}, {"factor", 8.0}, {"rope_theta", 1e6}}},
                         {"sliding_attention", {{"rope_type", "default"}, {"rope_theta", 300.0}}}};
  const ModelConfig now = parsed(with(with(old, "rope_scaling", nullptr), "rope_parameters", by_layer));
  EXPECT_EQ(now.rotary, before.rotary);
  EXPECT_EQ(now.window_rotary, before.window_rotary);
}

/// What is missing of the layers beside the window is what transformers takes it for.
TEST(Config, LayersWithoutABaseOfTheirOwnAreNotStretched) {
  const Json gemma = with(with(llama_json(), "model_type", "gemma3_text"), "head_dim", 4);
  const Json scaled = {{"rope_type", "linear"}, {"factor", 2.0}, {"rope_theta", 50.0}};
  const ModelConfig whole = parsed(with(gemma, "rope_parameters", {{"full_attention", scaled}}));
  EXPECT_EQ(whole.rotary.scaling.factor, 2);
  EXPECT_EQ(whole.window_rotary, Rotary{.theta = 10000});
  EXPECT_EQ(parsed(with(gemma, "rope_parameters", scaled)).rotary, Rotary{.theta = 1e6}) << "by kind of layer, or not";
}

TEST(Config, RopeScalingAndWhatStandsOutsideOfItCountFirst) {
  const Json scaling = {{"rope_type", "llama3"},
                        {"factor", 8.0},
                        {"low_freq_factor", 1.0},
                        {"high_freq_factor", 4.0},
                        {"original_max_position_embeddings", 16}};
  const Json both =
      with(with(llama_json(), "rope_parameters", {{"rope_type", "linear"}, {"factor", 2.0}}), "rope_scaling", scaling);
  EXPECT_EQ(parsed(both).rotary.scaling.type, RopeType::llama3);
  EXPECT_EQ(parsed(both).rotary.scaling.original, 16);
  EXPECT_EQ(parsed(with(both, "original_max_position_embeddings", 8)).rotary.scaling.original, 8);
}

TEST(Config, DynamicPositionsReachBeyondTheLengthOfTraining) {
  const ModelConfig c = parsed(with(llama_json(), "rope_scaling", {{"rope_type", "dynamic"}, {"factor", 3.0}}));
  EXPECT_EQ(c.context, 3 * c.rotary.scaling.original);
  EXPECT_EQ(c.rotary.scaling.original, parsed(llama_json()).context);
}

TEST(Config, AShareOfAHeadTurnsWhereTheFamilyHasThat) {
  const Json half = with(with(llama_json(), "head_dim", 16), "partial_rotary_factor", 0.5);
  EXPECT_EQ(parsed(half).rotary.columns, 0);
  EXPECT_EQ(parsed(with(half, "model_type", "phi3")).rotary.columns, 8);
  EXPECT_EQ(parsed(with(with(llama_json(), "head_dim", 16), "model_type", "stablelm")).rotary.columns, 4)
      << "a quarter where nothing is said";
}

/// Of three layers.
TEST(Config, AWindowIsThatOfTheFamily) {
  using Windows = std::vector<std::int64_t>;
  const Json base = with(with(llama_json(), "num_hidden_layers", 3), "head_dim", 8);
  const auto windows = [&](const char* family, const Json& said) {
    Json json = with(base, "model_type", family);
    json.update(said);
    return parsed(json).windows;
  };
  for (const char* family : {"llama", "granite", "olmo2", "stablelm", "gemma", "gpt_neox"})
    EXPECT_EQ(windows(family, {{"sliding_window", 5}}), Windows()) << family;
  EXPECT_EQ(windows("mistral", Json::object()), (Windows{4096, 4096, 4096}));
  EXPECT_EQ(windows("mistral", {{"sliding_window", nullptr}}), Windows());
  EXPECT_EQ(windows("qwen2", {{"use_sliding_window", true}, {"max_window_layers", 1}}), (Windows{0, 4096, 4096}));
  const Json one_whole = {"full_attention", "sliding_attention", "sliding_attention"};
  const Json asked = {{"use_sliding_window", true}, {"sliding_window", 5}, {"layer_types", one_whole}};
  EXPECT_EQ(windows("qwen3", asked), (Windows{0, 5, 5}));
  EXPECT_EQ(windows("qwen3_moe", asked), (Windows{5, 5, 5}));
  const Json smol = {{"use_sliding_window", true}, {"sliding_window", 5}, {"no_rope_layer_interval", 2}};
  EXPECT_EQ(windows("smollm3", smol), (Windows{0, 5, 0})) << "layers without positions";
}

TEST(Config, LlamaHeadsMayBeShared) {
  EXPECT_EQ(parsed(llama_json()).kv_heads, 4) << "absent: as many as heads";
  EXPECT_EQ(parsed(with(llama_json(), "num_key_value_heads", 2)).kv_heads, 2);
  EXPECT_EQ(parsed(with(llama_json(), "head_dim", 12)).head_dim, 12);
  EXPECT_FALSE(parsed(llama_json()).tied_head);
}

TEST(Config, LabelsComeFromId2Label) {
  Json json = {{"model_type", "distilbert"},
               {"vocab_size", 97},
               {"max_position_embeddings", 24},
               {"dim", 32},
               {"n_layers", 2},
               {"n_heads", 4},
               {"hidden_dim", 44}};
  EXPECT_EQ(parsed(json).task, Task::embedding);
  EXPECT_EQ(parsed(json).norm_epsilon, 1e-12);
  json["architectures"] = {"DistilBertForSequenceClassification"};
  EXPECT_EQ(parsed(json).task, Task::classification);
  EXPECT_EQ(parsed(json).labels, 2);
  json["id2label"] = {{"0", "a"}, {"1", "b"}, {"2", "c"}};
  EXPECT_EQ(parsed(json).labels, 3);
}

Json modernbert_json() {
  return {{"model_type", "modernbert"}, {"architectures", Json::array({"ModernBertForTokenClassification"})},
          {"vocab_size", 97},           {"max_position_embeddings", 24},
          {"hidden_size", 32},          {"num_hidden_layers", 4},
          {"num_attention_heads", 4},   {"intermediate_size", 44}};
}

TEST(Config, AnEncodersTaskIsNamedByItsArchitecture) {
  struct Named {
    const char* architecture;
    Task task;
  };
  for (const Named& named :
       {Named{"BertForSequenceClassification", Task::classification},
        Named{"BertForTokenClassification", Task::token_classification},
        Named{"BertForMaskedLM", Task::masked_language_model}, Named{"BertForPreTraining", Task::masked_language_model},
        Named{"BertForQuestionAnswering", Task::embedding}, Named{"BertModel", Task::embedding}}) {
    Json json = modernbert_json();
    json["model_type"] = "bert";
    json["architectures"] = {named.architecture};
    EXPECT_EQ(parsed(json).task, named.task) << named.architecture;
  }
}

TEST(Config, ModernBertWithoutItsEntriesIsWhatTransformersTakesItFor) {
  const ModelConfig c = parsed(modernbert_json());
  EXPECT_EQ(c.task, Task::token_classification);
  EXPECT_EQ(c.windows, (std::vector<std::int64_t>{0, 65, 65, 0})) << "64 positions on each side in all but every third";
  EXPECT_EQ(c.rotary.theta, 160000);
  EXPECT_EQ(c.window_rotary, Rotary{.theta = 10000});
  EXPECT_EQ(c.classifier_pooling, Pooling::first);
  EXPECT_EQ(c.norm_bias, Bias::absent);
  EXPECT_EQ(c.vocabulary_bias, Bias::present);
  const Json nine = {{"0", "O"},     {"1", "B-PER"}, {"2", "I-PER"},  {"3", "B-ORG"}, {"4", "I-ORG"},
                     {"5", "B-LOC"}, {"6", "I-LOC"}, {"7", "B-MISC"}, {"8", "I-MISC"}};
  EXPECT_EQ(parsed(with(modernbert_json(), "id2label", nine)).labels, 9);
}

Json falcon_json() {
  return {{"model_type", "falcon"},
          {"vocab_size", 97},
          {"hidden_size", 32},
          {"num_hidden_layers", 2},
          {"num_attention_heads", 4}};
}

TEST(Config, FalconsHeadsAndNormsFollowItsArchitecture) {
  const ModelConfig first = parsed(falcon_json());
  EXPECT_EQ(first.kv_heads, 1);
  EXPECT_EQ(first.norms, NormPlace::shared);
  EXPECT_EQ(first.d_ff, 128);
  const ModelConfig newer = parsed(with(with(falcon_json(), "new_decoder_architecture", true), "num_kv_heads", 2));
  EXPECT_EQ(newer.kv_heads, 2);
  EXPECT_EQ(newer.norms, NormPlace::parallel);
  const ModelConfig serial = parsed(with(with(falcon_json(), "parallel_attn", false), "multi_query", false));
  EXPECT_EQ(serial.kv_heads, 4);
  EXPECT_EQ(serial.norms, NormPlace::before);
}

struct Absurd {
  const char* what;
  Json json;
  const char* named;  ///< What the message must name.
};

Json bert_json() {
  return {{"model_type", "bert"},     {"architectures", Json::array({"BertForSequenceClassification"})},
          {"vocab_size", 97},         {"max_position_embeddings", 24},
          {"hidden_size", 32},        {"num_hidden_layers", 2},
          {"num_attention_heads", 4}, {"intermediate_size", 64}};
}

TEST(Config, OneOutputIsAScoreAndSeveralAreClassesUnlessTheProblemSaysOtherwise) {
  EXPECT_EQ(parsed(bert_json()).outputs, Outputs::classes);
  EXPECT_EQ(parsed(with(bert_json(), "num_labels", 1)).outputs, Outputs::scores);
  EXPECT_EQ(parsed(with(bert_json(), "id2label", {{"0", "LABEL_0"}})).outputs, Outputs::scores);
  EXPECT_EQ(parsed(with(bert_json(), "problem_type", "regression")).outputs, Outputs::scores);
  EXPECT_EQ(parsed(with(bert_json(), "problem_type", "multi_label_classification")).outputs, Outputs::scores);
  EXPECT_EQ(parsed(with(bert_json(), "problem_type", "single_label_classification")).outputs, Outputs::classes);
  EXPECT_NE(fault_of(with(bert_json(), "problem_type", "ranking")).find("'problem_type' is 'ranking'"),
            std::string::npos);
}

Json deberta_with(const char* key, const Json& value) {
  return with(with(with(bert_json(), "model_type", "deberta-v2"), "relative_attention", true), key, value);
}

TEST(Config, DebertaSaysWhichDistancesItScores) {
  const ModelConfig third =
      parsed(with(with(deberta_with("pos_att_type", "p2c|c2p"), "position_buckets", 8), "max_relative_positions", -1));
  EXPECT_TRUE(third.disentangled.by_query && third.disentangled.by_key);
  EXPECT_EQ(third.disentangled.positions, (RelativePositions{8, third.context}));
  const std::int64_t head_dim = third.d_model / third.heads;
  EXPECT_DOUBLE_EQ(third.score_scale, 1 / std::sqrt(3.0 * static_cast<double>(head_dim)));
  const ModelConfig second = parsed(deberta_with("pos_att_type", {"c2p"}));
  EXPECT_FALSE(second.disentangled.by_key);
  EXPECT_EQ(second.disentangled.positions, (RelativePositions{second.context, 0}));
  EXPECT_EQ(parsed(with(deberta_with("pos_att_type", "c2p"), "relative_attention", false)).disentangled.positions.span,
            0);
}

TEST(Config, TheTextPartOfAWholeIsAModelByItself) {
  Json whole = {{"model_type", "mistral3"}, {"tie_word_embeddings", true}, {"text_config", llama_json()}};
  whole["text_config"]["model_type"] = "mistral";
  const ModelConfig part = parsed(whole);
  EXPECT_STREQ(part.family->name, "mistral");
  EXPECT_TRUE(part.tied_head) << "the whole decides";
  ASSERT_NE(part.whole, nullptr);
  EXPECT_EQ(parsed(whole["text_config"]).whole, nullptr);
}

TEST(Config, ClassesHaveTheNamesOfTheConfiguration) {
  const Json names = {{"0", "contradiction"}, {"1", "entailment"}};
  EXPECT_EQ(parsed(with(bert_json(), "id2label", names)).label_names,
            (std::vector<std::string>{"contradiction", "entailment"}));
  EXPECT_TRUE(parsed(with(bert_json(), "id2label", {{"0", "LABEL_0"}, {"1", "LABEL_1"}})).label_names.empty());
  EXPECT_TRUE(parsed(with(bert_json(), "id2label", {{"0", "a"}, {"7", "b"}})).label_names.empty());
}

TEST(Config, WhatIsAbsurdOrNotBuiltIsRefusedInOneLine) {
  const Absurd cases[] = {
      {"no type", with(gpt2_json(), "model_type", nullptr), "model_type"},
      {"unknown type", with(gpt2_json(), "model_type", "mamba"), "mamba"},
      {"a whole without its text part", with(gpt2_json(), "model_type", "gemma3"), "'text_config'"},
      {"a text part of another kind",
       with(with(gpt2_json(), "model_type", "llava"), "text_config", {{"model_type", "mamba"}}), "is a 'mamba'"},
      {"no object", Json::array({1}), "object"},
      {"heads that do not divide", with(gpt2_json(), "n_head", 5), "5 heads"},
      {"negative width", with(gpt2_json(), "n_embd", -32), "n_embd"},
      {"no layers", with(gpt2_json(), "n_layer", 0), "n_layer"},
      {"a fraction", with(gpt2_json(), "n_layer", 2.5), "n_layer"},
      {"a text", with(gpt2_json(), "vocab_size", "97"), "vocab_size"},
      {"missing", with(gpt2_json(), "vocab_size", nullptr), "vocab_size"},
      {"2^63", with(gpt2_json(), "n_embd", std::uint64_t{1} << 63), "n_embd"},
      {"too wide", with(gpt2_json(), "n_embd", 1 << 22), "too large"},
      {"unknown activation", with(gpt2_json(), "activation_function", "mish"), "mish"},
      {"negative epsilon", with(gpt2_json(), "layer_norm_epsilon", -1.0), "layer_norm_epsilon"},
      {"another scaling of scores", with(gpt2_json(), "scale_attn_by_inverse_layer_idx", true), "inverse_layer"},
      {"shared heads that do not divide", with(llama_json(), "num_key_value_heads", 3), "3 key/value heads"},
      {"odd head size", with(llama_json(), "head_dim", 7), "even head size"},
      {"unknown scaling", with(llama_json(), "rope_scaling", {{"rope_type", "mrope"}, {"factor", 8.0}}), "mrope"},
      {"scaling without factor", with(llama_json(), "rope_scaling", {{"rope_type", "llama3"}}), "needs 'factor'"},
      {"pairs without divisors", with(llama_json(), "rope_scaling", {{"type", "su"}}), "short_factor"},
      {"no columns turn", with(with(llama_json(), "model_type", "stablelm"), "partial_rotary_factor", 0.01),
       "partial_rotary_factor"},
      {"scaling of a strange type", with(llama_json(), "rope_scaling", {{"rope_type", 5}}), "rope_type"},
      {"scaling that is a text", with(llama_json(), "rope_scaling", "linear"), "object"},
      {"absurd factor", with(llama_json(), "rope_parameters", {{"rope_type", "yarn"}, {"factor", 1e30}}), "'factor'"},
      {"negative theta", with(llama_json(), "rope_theta", -1.0), "rope_theta"},
      {"theta that vanishes", with(llama_json(), "rope_theta", 1e-300), "'rope_theta' is 1e-300"},
      {"theta below 1", with(llama_json(), "rope_theta", 0.5), "rope_theta"},
      {"theta beyond f32", with(llama_json(), "rope_theta", 1e300), "rope_theta"},
      {"theta that is none", with(llama_json(), "rope_theta", NAN), "'rope_theta' is nan"},
      {"theta of parameters", with(llama_json(), "rope_parameters", {{"rope_theta", 1e-30}}), "rope_theta"},
      {"epsilon of zero", with(llama_json(), "rms_norm_eps", 0.0), "rms_norm_eps"},
      {"epsilon below f32", with(llama_json(), "rms_norm_eps", 1e-40), "rms_norm_eps"},
      {"huge epsilon", with(llama_json(), "rms_norm_eps", 1e30), "rms_norm_eps"},
      {"infinite epsilon", with(gpt2_json(), "layer_norm_epsilon", INFINITY), "layer_norm_epsilon"},
      {"positions by a slope", with(falcon_json(), "alibi", true), "alibi"},
      {"two norms of one", with(falcon_json(), "num_ln_in_parallel_attn", 2), "num_ln_in_parallel_attn"},
      {"an unknown pooling", with(modernbert_json(), "classifier_pooling", "max"), "classifier_pooling"},
      {"a type of layers", with(modernbert_json(), "layer_types", {"full_attention", "chunked"}), "chunked"},
      {"a convolution", deberta_with("conv_kernel_size", 3), "the convolution behind the first layer"},
      {"distances that nobody scores", deberta_with("pos_att_type", "c2p|p2p"), "'p2p'"},
      {"steps without distances", deberta_with("position_buckets", 2000), "'position_buckets' 2000"},
      {"an unknown norm", deberta_with("norm_rel_ebd", "rms"), "'norm_rel_ebd' is 'rms'"},
      {"huge deviation", with(gpt2_json(), "initializer_range", 1e38), "initializer_range"},
  };
  for (const Absurd& one : cases) {
    SCOPED_TRACE(one.what);
    const std::string fault = fault_of(one.json);
    EXPECT_EQ(fault.rfind("config.json: ", 0), 0U) << fault;
    EXPECT_NE(fault.find(one.named), std::string::npos) << fault;
  }
}

}  // namespace
}  // namespace assay
