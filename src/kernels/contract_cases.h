#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "kernels/contract.h"

/// What the case generators are built from.
namespace assay::contract {

inline constexpr DType floats[] = {DType::f32, DType::f16, DType::bf16};

inline Argument dense(DType dtype, Shape shape) {
  const std::int64_t stride = shape.back();
  return {.present = true, .dtype = dtype, .shape = std::move(shape), .row_stride = stride, .packing = {}};
}

/// The same as a window into rows that are wider.
inline Argument window(DType dtype, Shape shape, std::int64_t more) {
  Argument argument = dense(dtype, std::move(shape));
  argument.row_stride += more;
  return argument;
}

inline Argument constant(DType dtype, Shape shape) {
  Argument argument = dense(dtype, std::move(shape));
  argument.constant = true;
  return argument;
}

struct Filled {
  Argument argument;
  Fill fill = Fill::normal;
};

inline std::string label_of(const Call& call) {
  std::string label = fmt::format("{} threads {}", call.operation->name, call.threads);
  for (const Argument& in : call.inputs)
    label += in.present ? fmt::format(" {} {}/{}", name(in.dtype), to_string(in.shape), in.row_stride) : " -";
  for (const Argument& out : call.outputs)
    label += out.present ? fmt::format(" -> {} {}/{}", name(out.dtype), to_string(out.shape), out.row_stride) : " -> -";
  if (call.attributes.math != DType::f32) label += fmt::format(" math {}", name(call.attributes.math));
  return label;
}

/// Cases alternate between one thread and three: more than the rows of some.
inline void add(std::vector<Case>& cases, const Operation& operation, const Attributes& attributes,
                const std::vector<Filled>& inputs, const std::vector<Argument>& outputs) {
  Case one;
  one.call.operation = &operation;
  one.call.attributes = attributes;
  one.call.outputs = outputs;
  one.call.threads = cases.size() % 2 == 0 ? 1 : 3;
  for (const Filled& input : inputs) {
    one.call.inputs.push_back(input.argument);
    one.fills.push_back(input.fill);
  }
  one.label = label_of(one.call);
  cases.push_back(std::move(one));
}

/// The same for an output in s8: standard normal values fill it, and the largest pass its limit.
inline Attributes scaled(Attributes attributes, double output_scale = 0.03) {
  attributes.output_scale = output_scale;
  return attributes;
}

std::vector<Case> linear_cases(const Operation& operation);
std::vector<Case> quantized_linear_cases(const Operation& operation);
std::vector<Case> route_cases(const Operation& operation);
std::vector<Case> group_rows_cases(const Operation& operation);
std::vector<Case> merge_rows_cases(const Operation& operation);
std::vector<Case> expert_linear_cases(const Operation& operation);
std::vector<Case> expert_quantized_linear_cases(const Operation& operation);
std::vector<Case> route_gradient_cases(const Operation& operation);
std::vector<Case> merge_rows_gradient_cases(const Operation& operation);
/// Of both gradients of expert_linear.
std::vector<Case> expert_gradient_cases(const Operation& operation);
std::vector<Case> expert_block_linear_cases(const Operation& operation);
std::vector<Case> block_linear_cases(const Operation& operation);
std::vector<Case> expert_quantized_block_linear_cases(const Operation& operation);
std::vector<Case> quantized_block_linear_cases(const Operation& operation);
std::vector<Case> quantize_groups_cases(const Operation& operation);
std::vector<Case> quantize_blocks_cases(const Operation& operation);
std::vector<Case> block_embedding_cases(const Operation& operation);
/// Of linears whose weight is no constant: it may change between runs.
std::vector<Case> trained_linear_cases(const Operation& operation);
std::vector<Case> linear_gradient_cases(const Operation& operation);
/// Of quantized_linear_input_gradient and block_linear_input_gradient.
std::vector<Case> frozen_linear_cases(const Operation& operation);
std::vector<Case> block_gradient_cases(const Operation& operation);
std::vector<Case> sum_rows_cases(const Operation& operation);
std::vector<Case> norm_gradient_cases(const Operation& operation);
std::vector<Case> activation_gradient_cases(const Operation& operation);
std::vector<Case> gate_gradient_cases(const Operation& operation);
/// Of softmax_gradient, attention_context_transposed and attention_gradient.
std::vector<Case> attention_gradient_cases(const Operation& operation);
std::vector<Case> embedding_gradient_cases(const Operation& operation);
std::vector<Case> add_rows_gradient_cases(const Operation& operation);
/// Of select_row_gradient and mean_pool_gradient.
std::vector<Case> spreading_cases(const Operation& operation);
std::vector<Case> concat_columns_cases(const Operation& operation);
std::vector<Case> gate_cases(const Operation& operation);
std::vector<Case> clamped_gate_cases(const Operation& operation);
std::vector<Case> dropout_cases(const Operation& operation);
/// Of cross_entropy and its gradient.
std::vector<Case> cross_entropy_cases(const Operation& operation);
/// Of adamw and sgd.
std::vector<Case> optimizer_cases(const Operation& operation);
std::vector<Case> round_float8_cases(const Operation& operation);
std::vector<Case> block_adamw_cases(const Operation& operation);
std::vector<Case> l2_norm_cases(const Operation& operation);
/// Of attention and of its three parts.
std::vector<Case> attention_cases(const Operation& operation);
/// Of relative_scores and its gradients.
std::vector<Case> relative_cases(const Operation& operation);
std::vector<Case> append_cache_cases(const Operation& operation);
std::vector<Case> cached_attention_cases(const Operation& operation);

}  // namespace assay::contract
