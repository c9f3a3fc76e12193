#pragma once

// For tests: two small programs, built by hand.

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "program/builder.h"
#include "tensor/precision.h"

namespace assay {

/// Width, heads and so on of the programs below; every one of another size, so that none can stand in for another.
struct SmallSizes {
  std::int64_t vocab = 11;
  std::int64_t context = 7;
  std::int64_t d_model = 6;
  std::int64_t heads = 3;
  std::int64_t head_dim = 2;
  std::int64_t d_ff = 10;
};

inline ValueId small_linear(Builder& b, ValueId x, const std::string& name, std::int64_t out) {
  const Dim in = b.program().value(x).shape.back();
  return b.add(op::linear, {x, b.weight(name + ".weight", {dim(out), in}), b.weight(name + ".bias", {dim(out)})});
}

inline ValueId small_norm(Builder& b, ValueId x, const std::string& name) {
  const Dim width = b.program().value(x).shape.back();
  Attributes attributes;
  attributes.epsilon = 1e-5;
  return b.add(op::layer_norm, {x, b.weight(name + ".weight", {width}), b.weight(name + ".bias", {width})}, attributes);
}

inline Attributes small_attention(const SmallSizes& sizes) {
  Attributes attributes;
  attributes.heads = attributes.kv_heads = sizes.heads;
  attributes.head_dim = sizes.head_dim;
  attributes.scale = 0.7;
  attributes.causal = true;
  return attributes;
}

/// x + out(attention(q(norm x), k(norm x), v(norm x))), causal.
inline ValueId small_attention_block(Builder& b, ValueId x, ValueId mask, const SmallSizes& sizes) {
  const Attributes attention = small_attention(sizes);
  Attributes unscaled = attention;
  unscaled.scale = 1;
  b.at("layers.0.ln1", Role::norm);
  const ValueId h = small_norm(b, x, "ln1");
  b.at("layers.0.attn.q_proj", Role::attention);
  const ValueId q = small_linear(b, h, "q", sizes.d_model);
  b.at("layers.0.attn.k_proj", Role::attention);
  const ValueId k = small_linear(b, h, "k", sizes.d_model);
  b.at("layers.0.attn.v_proj", Role::attention);
  const ValueId v = small_linear(b, h, "v", sizes.d_model);
  b.at("layers.0.attn.scores", Role::attention);
  const ValueId scores = b.add(op::attention_scores, {q, k}, attention);
  b.at("layers.0.attn.softmax", Role::softmax);
  const ValueId p = b.add(op::softmax, {scores, mask}, attention);
  b.at("layers.0.attn.context", Role::attention);
  const ValueId context = b.add(op::attention_context, {p, v}, unscaled);
  b.at("layers.0.attn.out_proj", Role::attention);
  return b.add(op::add, {x, small_linear(b, context, "out", sizes.d_model)});
}

/// A one-layer GPT-2: tied head, biases, pre-norm, causal.
inline Program small_decoder(const SmallSizes& sizes = {}) {
  Builder b;
  const ValueId ids = b.input("input_ids", DType::s32, {dim_batch, dim_seq});
  const ValueId mask = b.input("attention_mask", DType::u8, {dim_batch, dim_seq});
  const ValueId table = b.weight("wte.weight", {dim(sizes.vocab), dim(sizes.d_model)});
  b.at("embeddings", Role::embedding);
  ValueId x = b.add(op::embedding, {ids, table});
  x = b.add(op::add_rows, {x, b.weight("wpe.weight", {dim(sizes.context), dim(sizes.d_model)})});
  x = small_attention_block(b, x, mask, sizes);
  b.at("layers.0.ln2", Role::norm);
  ValueId h = small_norm(b, x, "ln2");
  b.at("layers.0.mlp.up_proj", Role::mlp);
  Attributes gelu;
  gelu.activation = Activation::gelu_tanh;
  h = b.add(op::activation, {small_linear(b, h, "up", sizes.d_ff)}, gelu);
  b.at("layers.0.mlp.down_proj", Role::mlp);
  x = b.add(op::add, {x, small_linear(b, h, "down", sizes.d_model)});
  b.at("ln_f", Role::norm);
  h = small_norm(b, x, "ln_f");
  b.at("head", Role::head);
  b.output("logits", b.add(op::linear, {h, table, no_value}));
  return b.take();
}

/// down(silu(gate x) * up x) of an input x (B, T, d_model), without biases.
inline Program small_gated_mlp(const SmallSizes& sizes = {}) {
  Builder b;
  const ValueId x = b.input("x", DType::f32, {dim_batch, dim_seq, dim(sizes.d_model)});
  const auto linear = [&](const char* name, ValueId in, std::int64_t out) {
    b.at(std::string("layers.0.mlp.") + name, Role::mlp);
    return b.add(op::linear, {in, b.weight(name, {dim(out), b.program().value(in).shape.back()}), no_value});
  };
  Attributes silu;
  silu.activation = Activation::silu;
  const ValueId gate = b.add(op::activation, {linear("gate_proj", x, sizes.d_ff)}, silu);
  const ValueId up = linear("up_proj", x, sizes.d_ff);
  b.at("layers.0.mlp.gate", Role::mlp);
  const ValueId h = b.add(op::multiply, {gate, up});
  b.output("logits", linear("down_proj", h, sizes.d_model));
  return b.take();
}

/// A scale for the input of every linear layer: 0.01 and so on, q, k and v alike.
inline std::shared_ptr<const ActivationScales> made_up_scales(const Program& built) {
  const auto scales = std::make_shared<ActivationScales>();
  std::map<ValueId, double> by_value;
  for (const Node& node : built.nodes) {
    if (node.operation != &op::linear) continue;
    const double next = 0.01 * static_cast<double>(by_value.size() + 1);
    (*scales)[node.path] = by_value.emplace(node.inputs[0], next).first->second;
  }
  return scales;
}

/// Nodes of that operation, in order.
inline std::vector<const Node*> nodes_of(const Program& program, const Operation& operation) {
  std::vector<const Node*> found;
  for (const Node& node : program.nodes) {
    if (node.operation == &operation) found.push_back(&node);
  }
  return found;
}

inline std::size_t count_of(const Program& program, const Operation& operation) {
  return nodes_of(program, operation).size();
}

inline DType dtype_of(const Program& program, ValueId id) {
  return program.value(id).dtype;
}

}  // namespace assay
