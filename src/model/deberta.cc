#include "model/deberta.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/json.h"
#include "base/printable.h"
#include "model/encoder.h"

namespace assay {
namespace {

constexpr const char* deberta_task_head[] = {"pooler.", "classifier."};
constexpr const char* deberta_beside[] = {"pooler.", "lm_predictions."};
/// Of other tasks, and of the generator that v3 was trained with; a model without learned positions may carry some.
constexpr const char* deberta_unused[] = {
    "cls.", "pooler.", "qa_outputs.", "lm_predictions.", "mask_predictions.", "embeddings.position_embeddings."};
constexpr TensorNames::OtherName deberta_other_names[] = {{"cls.predictions.decoder.bias", "cls.predictions.bias"}};

EncoderHeads heads_of(const ModelConfig& c) {
  const bool legacy = c.legacy_masked_head;
  return {.dense = "pooler.dense",
          .function = c.head_activation,
          .classifier = "classifier",
          .transform = legacy ? "cls.predictions.transform.dense" : "lm_predictions.lm_head.dense",
          .transform_function = std::nullopt,
          .transform_norm = legacy ? "cls.predictions.transform.LayerNorm" : "lm_predictions.lm_head.LayerNorm",
          .vocabulary_bias = legacy ? "cls.predictions.bias" : "lm_predictions.lm_head.bias"};
}

/// Names of one layer's parameters, and of those that project the table of distances.
struct DebertaLayerNames {
  EncoderLayerNames block;
  std::string distance_keys;
  std::string distance_queries;
};

DebertaLayerNames layer_names(const ModelConfig& c, std::int64_t layer) {
  const std::string self = fmt::format("encoder.layer.{}.attention.self.", layer);
  DebertaLayerNames names = {bert_layer_names(layer), self + "pos_key_proj", self + "pos_query_proj"};
  names.block.query = self + "query_proj";
  names.block.key = self + "key_proj";
  names.block.value = self + "value_proj";
  if (c.disentangled.shares_projections) {
    names.distance_keys = names.block.key;
    names.distance_queries = names.block.query;
  }
  return names;
}

/// Tokens, then all that is known of them, normalised as wide as the blocks are.
ValueId deberta_embeddings(Blocks& b) {
  const ModelConfig& c = b.config();
  b.at("embeddings", Role::embedding);
  ValueId x = b.token_embedding();
  if (c.learned_positions)
    x = b.add_rows(x, "embeddings.position_embeddings.weight", c.context, RowChoice::by_position);
  if (c.token_types > 0) x = b.add_token_types(x, "embeddings.token_type_embeddings.weight");
  if (c.embedding_width > 0) {
    b.at("embeddings.project", Role::embedding);
    x = b.linear(x, "embeddings.embed_proj", c.d_model, Bias::absent);
  }
  b.at("embeddings.norm", Role::norm);
  x = b.dropout(b.layer_norm(x, "embeddings.LayerNorm"));
  b.hidden(0, x);
  return x;
}

/// The table of distances (2 span, d_model), which all layers share; no_value where there is none.
ValueId distances(Blocks& b) {
  const Disentangled& d = b.config().disentangled;
  if (d.positions.span == 0) return no_value;
  b.at("distances", Role::embedding);
  const ValueId table = b.table("encoder.rel_embeddings.weight", 2 * d.positions.span, b.config().d_model);
  if (!d.is_normalised) return table;
  b.at("distances.norm", Role::norm);
  return b.layer_norm(table, "encoder.LayerNorm");
}

/// A query's content meets the distances as keys, a key's meets them as queries.
DistanceTables distance_tables(Blocks& b, ValueId table, const DebertaLayerNames& names, const std::string& path) {
  const ModelConfig& c = b.config();
  const auto projected = [&](const char* what, const std::string& name) {
    b.at(path + what, Role::attention);
    return b.linear(table, name, c.d_model, Bias::present);
  };
  DistanceTables tables;
  if (table == no_value) return tables;
  table = b.dropout(table);
  if (c.disentangled.by_query) tables.by_query = projected(".distance_keys", names.distance_keys);
  if (c.disentangled.by_key) tables.by_key = projected(".distance_queries", names.distance_queries);
  return tables;
}

/// A number below 1 leaves it to another entry.
std::int64_t positive_or(const ConfigReader& in, const char* key, std::int64_t otherwise) {
  if (!in.has(key)) return otherwise;
  const Json& value = in.json().at(key);
  return value.is_number_integer() && value <= 0 ? otherwise : in.count(key);
}

/// "p2c|c2p", or a list of such words.
std::vector<std::string> scored_words(const ConfigReader& in) {
  std::vector<std::string> words;
  if (!in.has("pos_att_type")) return words;
  const Json& value = in.json().at("pos_att_type");
  if (value.is_array()) {
    for (const Json& word : value) words.push_back(word.is_string() ? word.get<std::string>() : "?");
    return words;
  }
  const std::string text = in.text_or("pos_att_type", "");
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('|', begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

void read_scored(const ConfigReader& in, Disentangled& d) {
  for (const std::string& word : scored_words(in)) {
    if (word != "c2p" && word != "p2c")
      fail_user("{}: 'pos_att_type' has '{}'; c2p and p2c are known", in.file(), printable(word, 40));
    (word == "c2p" ? d.by_query : d.by_key) = true;
  }
}

RelativePositions read_positions(const ConfigReader& in, std::int64_t context) {
  const std::int64_t farthest = positive_or(in, "max_relative_positions", context);
  const std::int64_t buckets = positive_or(in, "position_buckets", 0);
  if (buckets == 0) return {.span = farthest, .farthest = 0};
  if (buckets < 2 || farthest - 1 <= buckets / 2)
    fail_user("{}: 'position_buckets' {} leave nothing to count of {} distances", in.file(), buckets, farthest);
  return {.span = buckets, .farthest = farthest};
}

Disentangled read_disentangled(const ConfigReader& in, std::int64_t context) {
  Disentangled d;
  read_scored(in, d);
  if (!in.flag_or("relative_attention", false)) return d;
  d.positions = read_positions(in, context);
  d.shares_projections = in.flag_or("share_att_key", false);
  const std::string norm = in.text_or("norm_rel_ebd", "none");
  if (norm != "layer_norm" && norm != "none")
    fail_user("{}: 'norm_rel_ebd' is '{}'; layer_norm and none are known", in.file(), printable(norm, 40));
  d.is_normalised = norm == "layer_norm";
  return d;
}

void refuse_unbuilt(const ConfigReader& in, const ModelConfig& c) {
  if (in.whole_or("conv_kernel_size", 0) > 0)
    fail_user(
        "{}: 'conv_kernel_size': the convolution behind the first layer (DeBERTa v2 xlarge and xxlarge) is not built",
        in.file());
  if (in.count_or("pooler_hidden_size", c.d_model) != c.d_model)
    fail_user("{}: 'pooler_hidden_size' other than 'hidden_size' is not supported", in.file());
  if (in.count_or("attention_head_size", c.d_model / c.heads) != c.d_model / c.heads)
    fail_user("{}: 'attention_head_size' other than a head's share of 'hidden_size' is not supported", in.file());
  if (!c.legacy_masked_head && c.embedding_width > 0 && c.task == Task::masked_language_model)
    fail_user("{}: 'legacy' is false: its head needs embeddings as wide as 'hidden_size'", in.file());
}

}  // namespace

const TensorNames deberta_tensors = {.prefix = "deberta.",
                                     .embedding = "embeddings.word_embeddings.weight",
                                     .task_head = deberta_task_head,
                                     .unused = deberta_unused,
                                     .beside = deberta_beside,
                                     .other_names = deberta_other_names,
                                     .head = "cls.predictions.decoder.weight"};

ModelConfig parse_deberta(const ConfigReader& in) {
  ModelConfig c = parse_encoder(in);
  c.d_model = in.count("hidden_size");
  c.layers = in.count("num_hidden_layers");
  c.heads = c.kv_heads = in.count("num_attention_heads");
  c.d_ff = in.count("intermediate_size");
  c.token_types = in.whole_or("type_vocab_size", 0);
  c.activation = in.activation_or("hidden_act", "gelu");
  c.head_activation = in.activation_or("pooler_hidden_act", "gelu");
  c.norm_epsilon = in.real_or("layer_norm_eps", 1e-7, norm_epsilon_range);
  c.learned_positions = in.flag_or("position_biased_input", true);
  c.legacy_masked_head = in.flag_or("legacy", true);
  c.tied_head = c.tied_head || !c.legacy_masked_head;
  if (const std::int64_t width = in.count_or("embedding_size", c.d_model); width != c.d_model)
    c.embedding_width = width;
  c.disentangled = read_disentangled(in, c.context);
  refuse_unbuilt(in, c);
  const std::int64_t head_dim = c.d_model / c.heads;
  const int scored = 1 + static_cast<int>(c.disentangled.by_query) + static_cast<int>(c.disentangled.by_key);
  c.score_scale = 1 / std::sqrt(static_cast<double>(scored) * static_cast<double>(head_dim));
  return c;
}

Json write_deberta(const ModelConfig& c) {
  const Disentangled& d = c.disentangled;
  const RelativePositions& positions = d.positions;
  Json json = write_encoder(c, "DebertaV2");
  json["hidden_size"] = c.d_model;
  json["embedding_size"] = c.embedding_width > 0 ? c.embedding_width : c.d_model;
  json["num_hidden_layers"] = c.layers;
  json["num_attention_heads"] = c.heads;
  json["intermediate_size"] = c.d_ff;
  json["type_vocab_size"] = c.token_types;
  json["hidden_act"] = config_word(c.activation);
  json["pooler_hidden_act"] = config_word(c.head_activation);
  json["layer_norm_eps"] = c.norm_epsilon;
  json["position_biased_input"] = c.learned_positions;
  json["legacy"] = c.legacy_masked_head;
  json["pos_att_type"] = Json::array();
  if (d.by_query) json["pos_att_type"].push_back("c2p");
  if (d.by_key) json["pos_att_type"].push_back("p2c");
  json["relative_attention"] = positions.span > 0;
  json["share_att_key"] = d.shares_projections;
  json["norm_rel_ebd"] = d.is_normalised ? "layer_norm" : "none";
  json["position_buckets"] = positions.farthest > 0 ? positions.span : -1;
  json["max_relative_positions"] = positions.farthest > 0 ? positions.farthest
                                   : positions.span > 0   ? positions.span
                                                          : -1;
  return json;
}

void emit_deberta(Blocks& b) {
  ValueId x = deberta_embeddings(b);
  const ValueId table = distances(b);
  for (std::int64_t layer = 0; layer < b.config().layers; ++layer) {
    const DebertaLayerNames names = layer_names(b.config(), layer);
    x = encoder_block(b, x, names.block, layer, [&](const std::string& path, ValueId q, ValueId k, ValueId v) {
      return b.attention(path, q, k, v, distance_tables(b, table, names, path));
    });
    b.hidden(layer + 1, x);
  }
  emit_heads(b, x, heads_of(b.config()));
}

}  // namespace assay
