#include "model/blocks.h"

#include <fmt/format.h>

#include <cmath>

#include "model/families.h"

namespace assay {

Blocks::Blocks(const ModelConfig& config, const ProgramOptions& options) : config_(config), options_(options) {
  ids_ = builder_.input("input_ids", DType::s32, {dim_batch, dim_seq});
  mask_ = builder_.input("attention_mask", DType::u8, {dim_batch, dim_seq});
  if (options.dropout == 0) return;
  seed_ = builder_.input("seed", DType::s32, {dim(2)});
  first_row_ = builder_.input("first_row", DType::s32, {dim(1)});
}

ValueId Blocks::dropout(ValueId x) {
  if (seed_ == no_value) return x;
  Attributes attributes;
  attributes.rate = options_.dropout;
  attributes.stream = dropouts_++;
  return builder_.add(op::dropout, {x, seed_, first_row_}, attributes);
}

void Blocks::output(ValueId logits) {
  builder_.output("logits", logits);
  if (options_.objective == Objective::none) return;
  const SymbolicShape one_each =
      labels_tokens(config_.task) ? SymbolicShape{dim_batch, dim_seq} : SymbolicShape{dim_batch};
  const ValueId labels = builder_.input("labels", DType::s32, one_each);
  at("loss", Role::loss);
  builder_.output("loss", builder_.add(op::cross_entropy, {logits, labels}));
}

ValueId Blocks::token_table(const char* name) {
  const std::int64_t width = config_.embedding_width > 0 ? config_.embedding_width : config_.d_model;
  return builder_.weight(name, {dim(config_.vocab_size), dim(width)});
}

ValueId Blocks::token_embedding() {
  const ValueId table = token_table(config_.family->tensors->embedding);
  Attributes attributes;
  attributes.padding_id = config_.padding_id.value_or(-1);
  return builder_.add(op::embedding, {ids_, table}, attributes);
}

ValueId Blocks::add_rows(ValueId x, const std::string& table, std::int64_t table_rows, RowChoice row) {
  Attributes attributes;
  attributes.row = row;
  const ValueId rows = builder_.weight(table, {dim(table_rows), builder_.program().value(x).shape.back()});
  return builder_.add(op::add_rows, {x, rows}, attributes);
}

ValueId Blocks::add_token_types(ValueId x, const std::string& table) {
  if (options_.token_types == TokenTypes::zero) return add_rows(x, table, config_.token_types, RowChoice::first);
  const ValueId types = builder_.input(token_type_ids_name, DType::s32, {dim_batch, dim_seq});
  const ValueId rows = builder_.weight(table, {dim(config_.token_types), builder_.program().value(x).shape.back()});
  return add(x, builder_.add(op::embedding, {types, rows}));
}

ValueId Blocks::add_counted_positions(ValueId x, const std::string& table, std::int64_t table_rows, Counted what) {
  Attributes count;
  count.offset = config_.position_base;
  count.padding_id = what == Counted::ids ? config_.position_base : 0;
  const ValueId positions = builder_.add(op::count_positions, {what == Counted::ids ? ids_ : mask_}, count);
  builder_.set_dtype(positions, DType::s32);
  Attributes look_up;
  if (what == Counted::ids) look_up.padding_id = config_.position_base;
  const ValueId rows = builder_.weight(table, {dim(table_rows), builder_.program().value(x).shape.back()});
  return add(x, builder_.add(op::embedding, {positions, rows}, look_up));
}

ValueId Blocks::linear(ValueId x, const std::string& name, std::int64_t out, Bias bias) {
  const Dim in = builder_.program().value(x).shape.back();
  const ValueId weight = builder_.weight(name + ".weight", {dim(out), in});
  const ValueId offset = bias == Bias::present ? builder_.weight(name + ".bias", {dim(out)}) : no_value;
  return builder_.add(op::linear, {x, weight, offset});
}

ValueId Blocks::layer_norm(ValueId x, const std::string& name) {
  Attributes attributes;
  attributes.epsilon = config_.norm_epsilon;
  const SymbolicShape width = {builder_.program().value(x).shape.back()};
  const ValueId gain = builder_.weight(name + ".weight", width);
  const ValueId bias = config_.norm_bias == Bias::present ? builder_.weight(name + ".bias", width)
                                                          : builder_.add(op::affine, {gain}, {.scale = 0});
  return builder_.add(op::layer_norm, {x, gain, bias}, attributes);
}

ValueId Blocks::rms_norm(ValueId x, const std::string& name, std::int64_t width) {
  Attributes attributes;
  attributes.epsilon = config_.norm_epsilon;
  ValueId gain = builder_.weight(name + ".weight", {dim(width)});
  if (config_.norm_shift != 0) gain = builder_.add(op::affine, {gain}, {.shift = config_.norm_shift});
  return builder_.add(op::rms_norm, {x, gain}, attributes);
}

ValueId Blocks::scaled(ValueId x, double factor) {
  return factor == 1 ? x : builder_.add(op::affine, {x}, {.scale = factor});
}

ValueId Blocks::soft_cap(ValueId x, double cap) {
  return cap == 0 ? x : builder_.add(op::soft_cap, {x}, {.cap = cap});
}

ValueId Blocks::activation(ValueId x, Activation function) {
  Attributes attributes;
  attributes.activation = function;
  return builder_.add(op::activation, {x}, attributes);
}

GroupedRows Blocks::route(ValueId x, ValueId logits) {
  const Attributes attributes = {
      .experts = config_.experts, .active_experts = config_.active_experts, .normalised = config_.normalised_experts};
  const auto outputs_of = [&](const Operation& operation, std::vector<ValueId> inputs) {
    return builder_.add_several(operation, std::move(inputs), attributes);
  };
  const std::vector<ValueId> chosen = outputs_of(op::route, {logits});
  builder_.set_dtype(chosen[1], DType::s32);
  const std::vector<ValueId> grouped = outputs_of(op::group_rows, {x, chosen[1]});
  builder_.set_dtype(grouped[1], DType::s32);
  builder_.set_dtype(grouped[2], DType::s32);
  return {.rows = grouped[0], .order = grouped[1], .offsets = grouped[2], .weights = chosen[0]};
}

ValueId Blocks::expert_linear(ValueId rows, const GroupedRows& grouped, const ExpertList& list, std::int64_t out) {
  const Dim in = builder_.program().value(rows).shape.back();
  std::vector<ValueId> inputs = {rows, grouped.offsets};
  for (std::int64_t expert = 0; expert < config_.experts; ++expert) {
    const std::string name = fmt::format("{}.{}.{}", list.list, expert, list.name);
    inputs.push_back(builder_.weight(name + ".weight", {dim(out), in}));
    inputs.push_back(list.bias == Bias::present ? builder_.weight(name + ".bias", {dim(out)}) : no_value);
  }
  return builder_.add(op::expert_linear, std::move(inputs));
}

ValueId Blocks::merge(ValueId rows, const GroupedRows& grouped) {
  return builder_.add(op::merge_rows, {rows, grouped.order, grouped.weights});
}

ValueId Blocks::columns(ValueId x, std::int64_t offset, std::int64_t width) {
  Attributes attributes;
  attributes.offset = offset;
  attributes.width = width;
  return builder_.add(op::slice_columns, {x}, attributes);
}

ValueId Blocks::rope(ValueId x, std::int64_t heads, const Rotary& rotary) {
  Attributes attributes;
  attributes.heads = heads;
  attributes.head_dim = config_.head_dim;
  attributes.rope_theta = rotary.theta;
  attributes.rotary_dim = rotary.columns;
  attributes.rope_scaling = rotary.scaling;
  attributes.pairs = config_.family->rotary.value();
  return builder_.add(op::rope, {x}, attributes);
}

Attributes Blocks::attention_attributes(std::int64_t window) const {
  Attributes attributes;
  attributes.heads = config_.heads;
  attributes.kv_heads = config_.kv_heads;
  attributes.head_dim = config_.head_dim;
  attributes.scale =
      config_.score_scale > 0 ? config_.score_scale : 1.0 / std::sqrt(static_cast<double>(config_.head_dim));
  attributes.causal = config_.task == Task::language_model;
  attributes.window = window;
  return attributes;
}

ValueId Blocks::softmax_and_context(const std::string& path, ValueId scores, ValueId v, const Attributes& attributes,
                                    const std::string& sinks) {
  at(path + ".softmax", Role::softmax);
  std::vector<ValueId> inputs = {scores, mask_};
  if (!sinks.empty()) inputs.push_back(builder_.weight(sinks, {dim(config_.heads)}));
  const ValueId probabilities = dropout(builder_.add(op::softmax, std::move(inputs), attributes));
  at(path + ".context", Role::attention);
  Attributes unscaled = attributes;
  unscaled.scale = 1;
  return builder_.add(op::attention_context, {probabilities, v}, unscaled);
}

ValueId Blocks::attention(const std::string& path, ValueId q, ValueId k, ValueId v, std::int64_t window,
                          const std::string& sinks) {
  const Attributes attributes = attention_attributes(window);
  at(path + ".scores", Role::attention);
  const ValueId scores = soft_cap(builder_.add(op::attention_scores, {q, k}, attributes), config_.score_cap);
  return softmax_and_context(path, scores, v, attributes, sinks);
}

ValueId Blocks::attention(const std::string& path, ValueId q, ValueId k, ValueId v, const DistanceTables& tables) {
  const Attributes attributes = attention_attributes(0);
  at(path + ".scores", Role::attention);
  ValueId scores = builder_.add(op::attention_scores, {q, k}, attributes);
  const auto add_distances = [&](ValueId x, ValueId table, ScoredBy scored_by) {
    Attributes relative = attributes;
    relative.relative = config_.disentangled.positions;
    relative.scored_by = scored_by;
    if (table != no_value) scores = builder_.add(op::relative_scores, {scores, x, table}, relative);
  };
  add_distances(q, tables.by_query, ScoredBy::query);
  add_distances(k, tables.by_key, ScoredBy::key);
  return softmax_and_context(path, scores, v, attributes, "");
}

ValueId Blocks::table(const std::string& name, std::int64_t rows, std::int64_t width) {
  return builder_.weight(name, {dim(rows), dim(width)});
}

ValueId Blocks::pooled(ValueId x, Pooling pooling) {
  if (pooling == Pooling::mean) return builder_.add(op::mean_pool, {x, mask_});
  Attributes attributes;
  attributes.row = RowChoice::first;
  return builder_.add(op::select_row, {x}, attributes);
}

void Blocks::hidden(std::int64_t index, ValueId x) {
  if (options_.hidden == HiddenStates::kept) builder_.output(fmt::format("hidden.{}", index), x);
}

ValueId Blocks::vocabulary_logits(ValueId x, const char* bias) {
  const ValueId table =
      token_table(config_.tied_head ? config_.family->tensors->embedding : config_.family->tensors->head);
  const ValueId offset = bias == nullptr ? no_value : builder_.weight(bias, {dim(config_.vocab_size)});
  return builder_.add(op::linear, {x, table, offset});
}

void Blocks::language_head(ValueId x, const char* bias) {
  at("head", Role::head);
  if (options_.logits == LogitRows::last) {
    Attributes attributes;
    attributes.row = RowChoice::last;
    x = builder_.add(op::select_row, {x}, attributes);
  }
  output(soft_cap(scaled(vocabulary_logits(x, bias), config_.logit_scale), config_.logit_cap));
}

}  // namespace assay
