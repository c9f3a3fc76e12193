#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "base/error.h"
#include "program/adapters.h"
#include "program/builder.h"
#include "program/passes.h"

namespace assay {
namespace {

/// Where layer overrides look for a node.
struct Place {
  std::string path;
  Role role;
};

Place place_of(const Node& node) {
  if (node.operation != &op::add) return {node.path, node.role};
  return {node.path.substr(0, node.path.rfind('.')), Role::other};
}

/// Copies a program operation by operation, with dtypes.
class Assigner {
 public:
  /// `frozen`: of a training; null: all are constant.
  Assigner(const Program& from, const PrecisionChoice& precision, const WeightFormats& formats,
           const FrozenWeights* frozen)
      : from_(from), precision_(precision), formats_(formats), frozen_(frozen), matched_(precision.layers.size()) {
    mapped_.resize(from.values.size(), no_value);
  }

  Program run() {
    for (const NamedValue& in : from_.inputs) {
      const Value& value = from_.value(in.value);
      map(in.value) = to_.input(in.name, value.dtype, value.shape);
    }
    for (const Node& node : from_.nodes) {
      choose_row(node);
      to_.at(node.path, node.role, own_row_name());
      assign(node);
    }
    refuse_unmatched();
    role_ = Role::other;
    for (const NamedValue& out : from_.outputs) to_.output(out.name, value(out.value));
    return to_.take();
  }

 private:
  void choose_row(const Node& node) {
    layer_ = layer_override(precision_, node);
    for (std::size_t i = 0; i < matched_.size(); ++i) matched_[i] = matched_[i] || matches(precision_.layers[i], node);
    row_ = layer_ == nullptr ? &precision_.row : &layer_->row;
    reads_base_ = frozen_ != nullptr && frozen_->base && reads_frozen_matrix(node);
    if (reads_base_) row_ = &*frozen_->base;
    ASSAY_ASSERT(row_->rule != Activations::native_16bit);
  }

  /// A linear layer or a table of tokens whose weight is not trained.
  bool reads_frozen_matrix(const Node& node) const {
    const bool reads = node.operation == &op::linear || (node.operation == &op::embedding && is_of_tokens(node));
    return reads && is_frozen(node.inputs[1]);
  }
  bool is_frozen(ValueId old) const { return frozen_->names.contains(from_.value(old).name); }

  /// The row of the node, where that is not the rest's.
  const char* own_row_name() const {
    if (reads_base_) return row_->name;
    return layer_ == nullptr ? "" : layer_->row.name;
  }

  /// Only a program that keeps keys and values has a place for `kv`.
  void refuse_unmatched_cache() const {
    const std::optional<DType> kept = precision_.override_for(Role::kv);
    const bool is_kept =
        std::any_of(from_.nodes.begin(), from_.nodes.end(), [](const Node& node) { return node.role == Role::kv; });
    if (kept && !is_kept)
      fail_user("--with 'kv={}': keys and values are kept where text is generated, not here", name(*kept));
  }

  void refuse_unmatched() const {
    refuse_unmatched_cache();
    const auto missed = std::find(matched_.begin(), matched_.end(), false);
    if (missed == matched_.end()) return;
    const LayerOverride& layer = precision_.layers[static_cast<std::size_t>(missed - matched_.begin())];
    fail_user("--with '{}={}': nothing of this model has such a {} ('assay explain' lists them)", layer.pattern,
              layer.row.name, layer.pattern.starts_with('@') ? "role" : "path");
  }

  /// Overrides by role are of the precision that the rest has.
  std::optional<DType> override_for(Role role) const {
    return layer_ == nullptr && !reads_base_ ? precision_.override_for(role) : std::nullopt;
  }

  ValueId& map(ValueId old) { return mapped_[static_cast<std::size_t>(old)]; }

  void map_to(const Node& node, ValueId output) { map(node.outputs[0]) = output; }

  DType dtype(ValueId id) const { return to_.program().value(id).dtype; }

  /// The new value of an old one; a weight appears at its first use, and what the embedding computes in an overridden
  /// dtype is cast back at the first use outside.
  ValueId value(ValueId old) {
    if (old == no_value) return no_value;
    const Value& was = from_.value(old);
    if (map(old) == no_value) {
      ASSAY_ASSERT(was.source == Source::weight);
      const bool is_trained = frozen_ != nullptr && !is_frozen(old);
      map(old) = is_trained ? to_.state(was.name, stored(), was.shape) : to_.weight(was.name, was.shape);
    }
    const bool leaves_embedding = role_ != Role::embedding && overridden_embedding_.contains(old);
    return leaves_embedding ? as(map(old), embedding_output()) : map(old);
  }

  /// `id` in that dtype: itself, or a cast that is made once.
  ValueId as(ValueId id, DType wanted) {
    if (id == no_value || dtype(id) == wanted) return id;
    const auto known = casts_.find({id, wanted});
    if (known != casts_.end()) return known->second;
    const ValueId result = add(op::cast, {id}, {}, wanted);
    if (is_autocast_weight(id)) to_.recompute(result);
    return casts_[{id, wanted}] = result;
  }

  /// A matrix that autocast casts at each call.
  bool is_autocast_weight(ValueId id) const {
    const Value& value = to_.program().value(id);
    return precision_.casts == Casts::every_call && row_->rule == Activations::autocast_lists &&
           value.source == Source::weight && value.shape.size() == 2;
  }

  ValueId add(const Operation& operation, std::vector<ValueId> inputs, const Attributes& attributes, DType out) {
    const ValueId id = to_.add(operation, std::move(inputs), attributes);
    to_.set_dtype(id, out);
    return id;
  }

  bool quantised() const { return row_->scheme != Scheme::none; }
  /// Weights by whole rows, of a dtype.
  bool quantises_rows() const { return quantised() && !takes_formats() && row_->blocks == nullptr; }

  /// Dtype in which parameters that are not quantised are stored.
  DType stored() const { return quantised() ? row_->activations : row_->weights; }

  bool takes_formats() const { return assay::takes_formats(row_->scheme); }

  /// How the checkpoint holds the weight.
  WeightFormat format_of(ValueId old) const {
    const auto found = formats_.find(from_.value(old).name);
    return found == formats_.end() ? WeightFormat{} : found->second;
  }

  /// The blocks in which the row has a weight: those of the file, or those that it makes; null: none.
  const BlockFormat* blocks_of(ValueId old) const { return takes_formats() ? format_of(old).blocks : row_->blocks; }

  /// Codes that a table gives their values are no integers to multiply.
  bool sums_in_groups(const BlockFormat* blocks) const {
    return sums_groups(row_->scheme) && blocks != nullptr && blocks->table.empty();
  }

  ValueId in_blocks(ValueId old) {
    const SymbolicShape& shape = from_.value(old).shape;
    if (takes_formats())
      return to_.blocks(from_.value(old).name, shape[0].factor, blocks_of(old)->bytes_of(shape[1].factor));
    const ValueId weight = value(old);
    const auto known = made_blocks_.find({weight, row_->blocks});
    if (known != made_blocks_.end()) return known->second;
    return made_blocks_[{weight, row_->blocks}] =
               add(op::quantize_blocks, {weight}, {.blocks = row_->blocks}, DType::u8);
  }

  /// A vector parameter (gain, bias): rounded to how it is stored, handed over in f32. What is computed of one is f32.
  ValueId vector(ValueId old) {
    if (old == no_value) return no_value;
    if (from_.value(old).source == Source::computed) return as(value(old), DType::f32);
    return as(as(value(old), takes_formats() ? DType::f32 : stored()), DType::f32);
  }

  /// A parameter that is read as a table.
  ValueId table(ValueId old) { return as(value(old), takes_formats() ? format_of(old).dtype : stored()); }

  struct Quantised {
    ValueId values;
    ValueId scales;
  };

  /// By whole rows, or by groups of them.
  Quantised quantise(const Operation& operation, ValueId id) {
    const auto key = std::tuple(&operation, id, row_->operand == DType::s8 ? DType::s8 : row_->weights);
    const auto known = quantised_.find(key);
    if (known != quantised_.end()) return known->second;
    const std::size_t index = to_.add_node({&operation, {id}, {}, {}, path_, role_, Phase::forward, own_row_name()});
    const std::vector<ValueId> outputs = to_.program().nodes[index].outputs;
    to_.set_dtype(outputs[0], std::get<DType>(key));
    return quantised_[key] = {outputs[0], outputs[1]};
  }

  void assign(const Node& node) {
    path_ = node.path;
    role_ = node.role;
    const Operation* operation = node.operation;
    const std::optional<DType> embedding = override_for(Role::embedding);
    if (node.role == Role::embedding && embedding) return assign_overridden_embedding(node, *embedding);
    if (operation == &op::count_positions) return assign_count(node);
    if (operation == &op::embedding) return assign_embedding(node);
    if (operation == &op::affine && from_.value(node.inputs[0]).source == Source::weight)
      return map_to(node, add(op::affine, {vector(node.inputs[0])}, node.attributes, DType::f32));
    if (operation == &op::linear) return assign_linear(node);
    if (operation == &op::expert_linear) return assign_expert_linear(node);
    if (operation == &op::route) return assign_route(node);
    if (operation == &op::group_rows) return assign_several(node, {value(node.inputs[0]), value(node.inputs[1])});
    if (operation == &op::merge_rows) return assign_merge(node);
    if (operation == &op::append_cache) return assign_append(node);
    if (operation == &op::cached_attention) return assign_cached_attention(node);
    if (operation->autocast == Autocast::low_precision) return assign_matmul(node);
    if (operation == &op::cross_entropy) return assign_loss(node);
    if (operation == &op::softmax) return assign_softmax(node);
    if (operation->autocast == Autocast::full_precision) return assign_norm(node);
    assign_widest(node);
  }

  /// What the rest goes on with, however a frozen table is kept.
  DType embedding_output() const {
    const Precision& row = reads_base_ ? precision_.row : *row_;
    return row.rule == Activations::as_stored ? row.activations : row.weights;
  }

  /// Tables, their sums and every step between them in one dtype. A tied head keeps a table of its own.
  void assign_overridden_embedding(const Node& node, DType wanted) {
    std::vector<ValueId> inputs;
    for (const ValueId in : node.inputs) {
      const ValueId id = value(in);
      inputs.push_back(id != no_value && is_float(dtype(id)) ? as(id, wanted) : id);
    }
    map(node.outputs[0]) = add(*node.operation, inputs, node.attributes, wanted);
    overridden_embedding_.insert(node.outputs[0]);
  }

  /// Not of positions, whose tables stay as vectors do.
  bool is_of_tokens(const Node& node) const { return from_.value(node.inputs[0]).name == "input_ids"; }

  void assign_embedding(const Node& node) {
    const ValueId ids = value(node.inputs[0]);
    const DType out = embedding_output();
    const BlockFormat* blocks = blocks_of(node.inputs[1]);
    if (blocks != nullptr && (takes_formats() || is_of_tokens(node))) {
      Attributes attributes = node.attributes;
      attributes.blocks = blocks;
      attributes.width = from_.value(node.inputs[1]).shape[1].factor;
      map(node.outputs[0]) = add(op::block_embedding, {ids, in_blocks(node.inputs[1])}, attributes, out);
    } else if (quantises_rows() && is_of_tokens(node)) {
      const Quantised weight = quantise(op::quantize_weight, value(node.inputs[1]));
      map(node.outputs[0]) = add(op::embedding, {ids, weight.values, weight.scales}, node.attributes, out);
    } else {
      map(node.outputs[0]) = add(op::embedding, {ids, table(node.inputs[1])}, node.attributes, out);
    }
  }

  void assign_linear(const Node& node) {
    const std::optional<DType> override = override_for(node.role);
    if (quantised() && is_adapter_weight(from_.value(node.inputs[1]).name)) return assign_adapter(node);
    if (quantises_rows() && !override) return assign_quantised_linear(node);
    if (quantised() && !override) return assign_block_linear(node);
    const DType operand = override.value_or(row_->operand);
    Attributes attributes = node.attributes;
    attributes.accumulator = override ? DType::f32 : row_->accumulator;
    attributes.chunk = override ? 0 : row_->chunk;
    const ValueId weight = override ? as(value(node.inputs[1]), *override) : as(table(node.inputs[1]), operand);
    const ValueId x = as(value(node.inputs[0]), operand);
    const DType out = override ? operand : row_->output;
    const ValueId y = add(op::linear, {x, weight, vector(bias_of(node, 2))}, attributes, out);
    map(node.outputs[0]) = override && node.role != Role::head ? as(y, row_->output) : y;
  }

  /// Beside weights of fewer bits an adapter keeps floats, as activations are.
  void assign_adapter(const Node& node) {
    const ValueId x = as(value(node.inputs[0]), row_->activations);
    const ValueId weight = as(value(node.inputs[1]), row_->activations);
    map(node.outputs[0]) = add(op::linear, {x, weight, no_value}, node.attributes, row_->activations);
  }

  /// The weight is in blocks, or it is what the file holds otherwise; the kernel widens what it must.
  void assign_block_linear(const Node& node) {
    Attributes attributes = node.attributes;
    attributes.blocks = blocks_of(node.inputs[1]);
    const ValueId x = as(value(node.inputs[0]), row_->activations);
    const ValueId bias = vector(bias_of(node, 2));
    std::vector<ValueId> inputs = {x, attributes.blocks != nullptr ? in_blocks(node.inputs[1]) : table(node.inputs[1])};
    const bool in_integers = sums_in_groups(attributes.blocks);
    attributes.accumulator = in_integers ? DType::s32 : DType::f32;
    if (in_integers) {
      const Quantised groups = quantise(op::quantize_groups, x);
      inputs = {groups.values, groups.scales, inputs[1]};
    }
    inputs.push_back(bias);
    map(node.outputs[0]) = add(in_integers                    ? op::quantized_block_linear
                               : attributes.blocks != nullptr ? op::block_linear
                                                              : op::linear,
                               std::move(inputs), attributes, row_->output);
  }

  void assign_quantised_linear(const Node& node) {
    const ValueId x = as(value(node.inputs[0]), row_->activations);
    const Quantised weight = quantise(op::quantize_weight, value(node.inputs[1]));
    const std::optional<double> scale = static_scale(node);
    const ValueId weight_scales = scale ? scaled(weight.scales, *scale) : weight.scales;
    const Quantised in = scale ? Quantised{in_steps(x, *scale), no_value} : quantised_rows(x);
    Attributes attributes = node.attributes;
    attributes.accumulator = row_->accumulator;
    map(node.outputs[0]) =
        add(op::quantized_linear, {in.values, in.scales, weight.values, weight_scales, vector(bias_of(node, 2))},
            attributes, row_->activations);
  }

  /// What a linear multiplies beside weights of 8 bits: by whole rows, or as it is.
  Quantised quantised_rows(ValueId x) {
    return row_->scheme == Scheme::weight_only_int8 ? Quantised{x, no_value} : quantise(op::quantize_rows, x);
  }

  /// Of the layer's input; absent where the row has none, or calibration left it to be quantised by token.
  std::optional<double> static_scale(const Node& node) const {
    if (row_->scheme != Scheme::static_int8) return std::nullopt;
    if (precision_.scales == nullptr)
      fail_user("{}: has scales from calibration data only ('assay bench ... --calibrate DATA')", row_->name);
    const auto found = precision_.scales->find(node.path);
    return found == precision_.scales->end() ? std::nullopt : std::optional(found->second);
  }

  /// A constant of f32 times a factor, made once.
  ValueId scaled(ValueId id, double factor) {
    const auto known = scaled_.find({id, factor});
    if (known != scaled_.end()) return known->second;
    return scaled_[{id, factor}] = add(op::affine, {id}, {.scale = factor}, DType::f32);
  }

  /// round(id / step) in s8, made once.
  ValueId in_steps(ValueId id, double step) {
    const auto known = in_steps_.find({id, step});
    if (known != in_steps_.end()) return known->second;
    return in_steps_[{id, step}] = add(op::cast, {id}, {.output_scale = step}, DType::s8);
  }

  /// Its first output in the dtype of the first input, the others as they are.
  void assign_several(const Node& node, std::vector<ValueId> inputs) {
    const DType out = dtype(inputs[0]);
    assign_several(node, std::move(inputs), out);
  }
  void assign_several(const Node& node, std::vector<ValueId> inputs, DType out) {
    const std::vector<ValueId> outputs = to_.add_several(*node.operation, std::move(inputs), node.attributes);
    to_.set_dtype(outputs[0], out);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (i > 0) to_.set_dtype(outputs[i], from_.value(node.outputs[i]).dtype);
      map(node.outputs[i]) = outputs[i];
    }
  }

  /// Which experts a token is given to is decided in f32, whatever computed the logits.
  void assign_route(const Node& node) { assign_several(node, {as(value(node.inputs[0]), DType::f32)}); }

  void assign_merge(const Node& node) {
    assign_several(node, {value(node.inputs[0]), value(node.inputs[1]), as(value(node.inputs[2]), DType::f32)});
  }

  /// Of op::expert_linear's inputs, a weight and its bias an expert.
  static constexpr std::size_t first_expert = 2;

  /// The blocks that the row takes all of the experts' weights in, if they are of one kind.
  const BlockFormat* blocks_of_experts(const Node& node) const {
    const BlockFormat* blocks = blocks_of(node.inputs[first_expert]);
    for (std::size_t i = first_expert; i < node.inputs.size(); i += 2) {
      if (blocks_of(node.inputs[i]) != blocks) return nullptr;
    }
    return blocks;
  }

  void assign_expert_linear(const Node& node) {
    const std::optional<DType> override = override_for(node.role);
    if (quantises_rows() && !override) return assign_quantised_experts(node);
    if (!override && blocks_of_experts(node) != nullptr) return assign_experts_in_blocks(node);
    Attributes attributes = node.attributes;
    attributes.accumulator = override || takes_formats() ? DType::f32 : row_->accumulator;
    attributes.chunk = override ? 0 : row_->chunk;
    // What a file holds in several ways is one dtype here.
    const DType operand = override.value_or(takes_formats() ? DType::f32 : row_->operand);
    const DType read = takes_formats() && !override ? row_->activations : operand;
    std::vector<ValueId> inputs = {as(value(node.inputs[0]), read), value(node.inputs[1])};
    for (std::size_t i = first_expert; i < node.inputs.size(); i += 2) {
      inputs.push_back(as(table(node.inputs[i]), operand));
      inputs.push_back(vector(node.inputs[i + 1]));
    }
    const ValueId y = add(op::expert_linear, std::move(inputs), attributes, override ? operand : row_->output);
    map(node.outputs[0]) = as(y, row_->output);
  }

  void assign_experts_in_blocks(const Node& node) {
    Attributes attributes = node.attributes;
    attributes.blocks = blocks_of_experts(node);
    std::vector<ValueId> inputs = {as(value(node.inputs[0]), row_->activations)};
    const bool in_integers = sums_in_groups(attributes.blocks);
    if (in_integers) {
      const Quantised groups = quantise(op::quantize_groups, inputs[0]);
      inputs = {groups.values, groups.scales};
    }
    attributes.accumulator = in_integers ? DType::s32 : DType::f32;
    inputs.push_back(value(node.inputs[1]));
    for (std::size_t i = first_expert; i < node.inputs.size(); i += 2) {
      inputs.push_back(in_blocks(node.inputs[i]));
      inputs.push_back(vector(node.inputs[i + 1]));
    }
    const Operation& operation = in_integers ? op::expert_quantized_block_linear : op::expert_block_linear;
    map(node.outputs[0]) = add(operation, std::move(inputs), attributes, row_->output);
  }

  void assign_quantised_experts(const Node& node) {
    const ValueId x = as(value(node.inputs[0]), row_->activations);
    const Quantised in = quantised_rows(x);
    std::vector<ValueId> inputs = {in.values, in.scales, value(node.inputs[1])};
    for (std::size_t i = first_expert; i < node.inputs.size(); i += 2) {
      const Quantised weight = quantise(op::quantize_weight, value(node.inputs[i]));
      inputs.insert(inputs.end(), {weight.values, weight.scales, vector(node.inputs[i + 1])});
    }
    Attributes attributes = node.attributes;
    attributes.accumulator = row_->accumulator;
    map(node.outputs[0]) = add(op::expert_quantized_linear, std::move(inputs), attributes, row_->activations);
  }

  static ValueId bias_of(const Node& node, std::size_t index) {
    return has_input(node, index) ? node.inputs[index] : no_value;
  }

  void assign_count(const Node& node) {
    std::vector<ValueId> inputs;
    for (const ValueId in : node.inputs) inputs.push_back(value(in));
    assign_several(node, std::move(inputs), DType::s32);
  }

  /// Attention's products: operands in the 16-bit dtype; under 8 bits in the activations' dtype.
  DType attention_operand() const {
    return override_for(Role::attention).value_or(quantised() ? row_->activations : row_->operand);
  }
  DType attention_output() const { return quantised() ? row_->activations : row_->output; }

  void assign_matmul(const Node& node) {
    std::vector<ValueId> inputs;
    for (const ValueId in : node.inputs) inputs.push_back(as(value(in), attention_operand()));
    map(node.outputs[0]) = as(add(*node.operation, inputs, node.attributes, attention_operand()), attention_output());
  }

  /// Keys and values are kept in what multiplies them, unless `--with kv=` says otherwise.
  void assign_append(const Node& node) {
    const DType kept = precision_.override_for(Role::kv).value_or(attention_operand());
    Node append = node;
    append.precision = layer_ == nullptr ? "" : layer_->row.name;
    for (ValueId& in : append.inputs) in = from_.value(in).source == Source::state ? cache(in, kept) : value(in);
    add_scales(node, append.inputs, op::append_cache.updates);
    append.outputs.assign(append.inputs.begin() + op::append_cache.updates, append.inputs.end());
    to_.add_update(std::move(append));
  }

  ValueId cache(ValueId old, DType kept) {
    const Value& was = from_.value(old);
    return map(old) = to_.state(was.name, kept, was.shape);
  }

  /// Behind inputs of which caches in s8 stand from `first` on: the scales of each.
  void add_scales(const Node& node, std::vector<ValueId>& inputs, std::size_t first) {
    for (const std::size_t place : {first, first + 1}) {
      const Value kept = to_.program().value(inputs[place]);
      if (kept.dtype != DType::s8) return;
      inputs.push_back(
          to_.state(kept.name + ".scales", DType::f32, {kept.shape[0], kept.shape[1], dim(node.attributes.kv_heads)}));
    }
  }

  /// Places among its inputs.
  static constexpr std::size_t cached_scales = 5;
  static constexpr std::size_t cached_sinks = 7;

  void assign_cached_attention(const Node& node) {
    std::vector<ValueId> inputs = {as(value(node.inputs[0]), attention_operand())};
    for (std::size_t i = 1; i < cached_scales; ++i) inputs.push_back(value(node.inputs[i]));
    add_scales(node, inputs, 1);
    if (has_input(node, cached_sinks)) {
      inputs.resize(cached_sinks, no_value);
      inputs.push_back(vector(node.inputs[cached_sinks]));
    }
    Attributes attributes = node.attributes;
    attributes.math = override_for(Role::softmax).value_or(row_->math);
    map(node.outputs[0]) = as(add(*node.operation, inputs, attributes, attention_operand()), attention_output());
  }

  /// The loss reads logits as they are, computes in f32 and is f32.
  void assign_loss(const Node& node) {
    map(node.outputs[0]) =
        add(*node.operation, {value(node.inputs[0]), value(node.inputs[1])}, node.attributes, DType::f32);
  }

  void assign_norm(const Node& node) {
    std::vector<ValueId> parameters;
    for (std::size_t i = 1; i < node.inputs.size(); ++i) parameters.push_back(vector(node.inputs[i]));
    assign_math(node, Role::norm, std::move(parameters));
  }

  /// The mask as it is, sinks as parameters.
  void assign_softmax(const Node& node) {
    std::vector<ValueId> beside;
    if (node.inputs.size() > 1) beside.push_back(value(node.inputs[1]));
    if (has_input(node, 2)) beside.push_back(vector(node.inputs[2]));
    assign_math(node, Role::softmax, std::move(beside));
  }

  /// Norms and softmax: input and output in the activations' dtype (f32 under autocast), arithmetic in `math`.
  void assign_math(const Node& node, Role role, std::vector<ValueId> parameters) {
    const std::optional<DType> override = override_for(role);
    const DType usual = row_->rule == Activations::as_stored ? row_->activations : row_->math;
    const DType inside = override.value_or(usual);
    Attributes attributes = node.attributes;
    attributes.math = override.value_or(row_->math);
    std::vector<ValueId> inputs = {as(value(node.inputs[0]), inside)};
    inputs.insert(inputs.end(), parameters.begin(), parameters.end());
    map(node.outputs[0]) = as(add(*node.operation, inputs, attributes, inside), usual);
  }

  void assign_widest(const Node& node) {
    std::vector<ValueId> inputs;
    for (const ValueId in : node.inputs) {
      const bool parameter = in != no_value && from_.value(in).source == Source::weight;
      inputs.push_back(parameter ? table(in) : value(in));
    }
    // Beside layers of another row, and of weights as a file has them, inputs may be wider or narrower than what this
    // row stores.
    const bool is_settled = (!precision_.layers.empty() || takes_formats()) && row_->rule == Activations::as_stored &&
                            !override_for(node.role);
    DType widest = is_settled ? row_->activations : dtype(inputs[0]);
    for (const ValueId in : inputs) {
      if (is_settled) break;
      if (in != no_value && is_float(dtype(in)) && size_of(dtype(in)) > size_of(widest)) widest = dtype(in);
    }
    for (ValueId& in : inputs) {
      if (in != no_value && is_float(dtype(in))) in = as(in, widest);
    }
    map(node.outputs[0]) = add(*node.operation, inputs, node.attributes, widest);
  }

  const Program& from_;
  const PrecisionChoice& precision_;
  const WeightFormats& formats_;
  const FrozenWeights* frozen_;
  const Precision* row_ = nullptr;        ///< Of the node that is assigned.
  bool reads_base_ = false;               ///< Its row is that of the frozen weights.
  const LayerOverride* layer_ = nullptr;  ///< Where its row comes from, if not from the rest's.
  std::vector<bool> matched_;             ///< By layer override.
  Builder to_;
  std::string path_;
  Role role_ = Role::other;
  std::vector<ValueId> mapped_;
  std::map<std::pair<ValueId, DType>, ValueId> casts_;
  std::map<std::tuple<const Operation*, ValueId, DType>, Quantised> quantised_;
  std::map<std::pair<ValueId, const BlockFormat*>, ValueId> made_blocks_;
  std::map<std::pair<ValueId, double>, ValueId> scaled_;
  std::map<std::pair<ValueId, double>, ValueId> in_steps_;
  std::set<ValueId> overridden_embedding_;  // old values that the embedding computes in the dtype --with names
};

/// With or without its ending, as the Program or as the checkpoint has it.
bool matches_weight(const LayerOverride& layer, const std::string& weight, const CheckpointNames& names) {
  const auto found = names.find(weight);
  for (const std::string& name : {weight, found == names.end() ? weight : found->second}) {
    if (layer.matches(name, Role::other) || layer.matches(name.substr(0, name.rfind('.')), Role::other)) return true;
  }
  return false;
}

/// The layer's row for each layer whose weight has such a name in the checkpoint.
void add_layers_of_weights(const LayerOverride& layer, const Program& program, const CheckpointNames& names,
                           std::vector<LayerOverride>& layers) {
  for (const Node& node : program.nodes) {
    const bool reads_it = std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId in) {
      return in != no_value && program.value(in).source == Source::weight &&
             matches_weight(layer, program.value(in).name, names);
    });
    if (!reads_it || (!layers.empty() && layers.back().pattern == node.path)) continue;
    layers.push_back(layer);
    layers.back().pattern = node.path;
  }
}

}  // namespace

bool matches_any(const LayerOverride& layer, const Program& program) {
  return std::any_of(program.nodes.begin(), program.nodes.end(),
                     [&](const Node& node) { return matches(layer, node); });
}

bool matches(const LayerOverride& layer, const Node& node) {
  const Place place = place_of(node);
  return layer.matches(place.path, place.role);
}

PrecisionChoice named_by_path(PrecisionChoice precision, const Program& program, const CheckpointNames& names) {
  std::vector<LayerOverride> layers;
  for (LayerOverride& layer : precision.layers) {
    const std::size_t before = layers.size();
    if (!matches_any(layer, program)) add_layers_of_weights(layer, program, names, layers);
    if (layers.size() == before) layers.push_back(std::move(layer));
  }
  precision.layers = std::move(layers);
  return precision;
}

const LayerOverride* layer_override(const PrecisionChoice& precision, const Node& node) {
  const Place place = place_of(node);
  const LayerOverride* layer = precision.layer_override(place.path, place.role);
  const bool asks_for_the_same =
      layer != nullptr && precision.overrides.empty() && std::string_view(layer->row.name) == precision.row.name;
  return asks_for_the_same ? nullptr : layer;
}

Program assign_dtypes(const Program& program, const PrecisionChoice& precision, const WeightFormats& formats) {
  const Program assigned = Assigner(program, precision, formats, nullptr).run();
  return round_products_to_float8(assigned, precision, ScaleHistory::none);
}

Precision base_row(const Precision& row, const Precision& precision) {
  if (!widens_weights(row.scheme)) {
    std::string rows;
    for (const Precision& one : precision_table()) {
      if (widens_weights(one.scheme)) rows += fmt::format("{}{}", rows.empty() ? "" : ", ", one.name);
    }
    fail_user("--base {}: does more than keep weights; a frozen base can be in {}", row.name, rows);
  }
  Precision settled = row;
  settled.rule = Activations::as_stored;
  settled.activations = settled.operand = precision.operand;
  settled.output = precision.output;
  return settled;
}

Program assign_training_dtypes(const Program& program, const PrecisionChoice& precision, const FrozenWeights& frozen) {
  ASSAY_ASSERT(precision.row.gradients.has_value());
  return Assigner(program, precision, frozen.formats, &frozen).run();
}

}  // namespace assay
