#include <algorithm>

#include "base/error.h"
#include "kernels/experts.h"
#include "kernels/float8_scale.h"
#include "kernels/kernel.h"
#include "kernels/one_by_one.h"
#include "kernels/reference/loops.h"

namespace assay {
namespace reference {
namespace {

bool is_movement(const Operation* operation) {
  return operation == &op::select_row || operation == &op::concat_rows || operation == &op::cast ||
         operation == &op::select_row_gradient || operation == &op::concat_columns || operation == &op::group_rows ||
         operation == &op::count_positions || operation == &op::append_cache;
}

/// What a scalar loop in f64 is. Matrix products are judged by kernels/verdict.h.
void describe(const Call& call, Prepared& prepared) {
  prepared.description = "reference loops in f64, rounded once";
  prepared.operand = DType::f64;
  prepared.accumulator = DType::f64;
  prepared.verdict = Verdict::slow;
  prepared.evidence = "scalar loops";
  prepared.arithmetic = Arithmetic::scalar_loops;
  if (is_movement(call.operation)) {
    prepared.description = "reference loops";
    prepared.operand = prepared.accumulator = call.in(0).dtype;
  } else if (call.operation == &op::quantized_linear && call.in(1).present) {
    const DType operand = call.in(0).dtype;
    prepared.description = fmt::format("reference loops over {}, exact sums", name(operand));
    prepared.operand = operand;
    prepared.accumulator = operand == DType::s8 ? DType::s32 : DType::f64;
  } else if (call.operation == &op::quantized_block_linear) {
    prepared.description = fmt::format("reference loops over s8 and codes of {}", call.attributes.blocks->name);
    prepared.operand = DType::s8;
    prepared.accumulator = DType::s32;
  } else if (call.operation == &op::linear && call.attributes.accumulator == DType::f16) {
    prepared.description = "reference loops, every f16 multiply-add rounded to f16 in software";
    prepared.operand = prepared.accumulator = DType::f16;
  } else if (size_of(call.attributes.math) == 2) {
    prepared.description =
        fmt::format("reference loops, every step rounded to {} in software", name(call.attributes.math));
    prepared.verdict = Verdict::emulated;
  }
}

bool is_look_up(const Operation* operation) {
  return operation == &op::embedding || operation == &op::block_embedding;
}

bool can_read(const Call& call) {
  for (std::size_t index = 0; index < call.inputs.size(); ++index) {
    const bool table = is_look_up(call.operation) && index == 1;
    if (call.inputs[index].packing.kind != Packing::Kind::plain && !table) return false;
  }
  return true;
}

std::size_t workspace_bytes(const Call& call) {
  if (call.operation == &op::attention_gradient)
    return static_cast<std::size_t>(attention_gradient_doubles(call)) * sizeof(double);
  std::int64_t keys = 0;
  if (call.operation == &op::attention) keys = call.in(0).shape[1];
  if (call.operation == &op::cached_attention) keys = call.in(1).shape[1];
  return static_cast<std::size_t>(keys * std::max(call.threads, 1)) * sizeof(double);
}

}  // namespace

Offer offer(const Call& call, void (*loops)(const Call&, const Memory&)) {
  if (!can_read(call)) return Declined{"an input is packed"};
  Prepared prepared;
  prepared.kernel = make_kernel([call, loops](const Memory& memory) { loops(call, memory); });
  prepared.workspace_bytes = workspace_bytes(call);
  if (is_look_up(call.operation)) prepared.packing = {{}, call.in(1).packing};
  describe(product_of(call), prepared);
  if (call.operation == &op::round_float8) return emulating_float8(call, std::move(prepared));
  return prepared;
}

namespace {

template <void (*loops)(const Call&, const Memory&)>
constexpr Implementation only[] = {{"reference loops", prepare<loops>}};
/// Of operations over a list of tensors.
template <void (*loops)(const Call&, const Memory&)>
constexpr Implementation list[] = {{"reference loops", each_listed<prepare<loops>>}};

constexpr OperationKernels table[] = {
    {&op::embedding, only<embedding>},
    {&op::count_positions, only<count_positions>},
    {&op::add_rows, only<add_rows>},
    {&op::layer_norm, only<layer_norm>},
    {&op::rms_norm, only<rms_norm>},
    {&op::linear, only<linear>},
    {&op::quantized_linear, only<quantized_linear>},
    {&op::block_linear, only<block_linear>},
    {&op::quantized_block_linear, only<quantized_block_linear>},
    {&op::block_embedding, only<block_embedding>},
    {&op::route, only<route>},
    {&op::group_rows, only<group_rows>},
    {&op::expert_linear, only<expert_linear>},
    {&op::expert_quantized_linear, only<expert_quantized_linear>},
    {&op::expert_block_linear, only<expert_block_linear>},
    {&op::expert_quantized_block_linear, only<expert_quantized_block_linear>},
    {&op::merge_rows, only<merge_rows>},
    {&op::activation, only<activation>},
    {&op::gated_activation, only<gated_activation>},
    {&op::add, only<add>},
    {&op::multiply, only<multiply>},
    {&op::affine, only<affine>},
    {&op::soft_cap, only<soft_cap>},
    {&op::rope, only<rope>},
    {&op::attention_scores, only<attention_scores>},
    {&op::relative_scores, only<relative_scores>},
    {&op::softmax, only<softmax>},
    {&op::attention_context, only<attention_context>},
    {&op::attention, only<attention>},
    {&op::append_cache, only<append_cache>},
    {&op::cached_attention, only<cached_attention>},
    {&op::add_layer_norm, only<add_layer_norm>},
    {&op::add_rms_norm, only<add_rms_norm>},
    {&op::select_row, only<select_row>},
    {&op::mean_pool, only<mean_pool>},
    {&op::cast, only<cast>},
    {&op::quantize_rows, only<quantize_rows>},
    {&op::quantize_weight, only<quantize_weight>},
    {&op::quantize_groups, only<quantize_groups>},
    {&op::quantize_blocks, only<quantize_blocks>},
    {&op::concat_rows, only<concat_rows>},
    {&op::gate, only<gate>},
    {&op::clamped_gate, only<clamped_gate>},
    {&op::dropout, only<dropout>},
    {&op::cross_entropy, only<cross_entropy>},
    {&op::linear_input_gradient, only<linear_input_gradient>},
    {&op::quantized_linear_input_gradient, only<quantized_linear_input_gradient>},
    {&op::block_linear_input_gradient, only<block_linear_input_gradient>},
    {&op::linear_weight_gradient, only<linear_weight_gradient>},
    {&op::route_gradient, only<route_gradient>},
    {&op::group_rows_gradient, only<group_rows_gradient>},
    {&op::expert_linear_input_gradient, only<expert_linear_input_gradient>},
    {&op::expert_linear_weight_gradient, only<expert_linear_weight_gradient>},
    {&op::merge_rows_gradient, only<merge_rows_gradient>},
    {&op::sum_rows, only<sum_rows>},
    {&op::layer_norm_gradient, only<layer_norm_gradient>},
    {&op::rms_norm_gradient, only<rms_norm_gradient>},
    {&op::activation_gradient, only<activation_gradient>},
    {&op::gate_gradient, only<gate_gradient>},
    {&op::soft_cap_gradient, only<soft_cap_gradient>},
    {&op::relative_input_gradient, only<relative_input_gradient>},
    {&op::relative_table_gradient, only<relative_table_gradient>},
    {&op::softmax_gradient, only<softmax_gradient>},
    {&op::attention_context_transposed, only<attention_context_transposed>},
    {&op::attention_gradient, only<attention_gradient>},
    {&op::embedding_gradient, only<embedding_gradient>},
    {&op::add_rows_gradient, only<add_rows_gradient>},
    {&op::select_row_gradient, only<select_row_gradient>},
    {&op::mean_pool_gradient, only<mean_pool_gradient>},
    {&op::concat_columns, only<concat_columns>},
    {&op::cross_entropy_gradient, only<cross_entropy_gradient>},
    {&op::round_float8, only<round_float8>},
    {&op::l2_norm, list<l2_norm>},
    {&op::adamw, list<adamw>},
    {&op::block_adamw, list<block_adamw>},
    {&op::sgd, list<sgd>},
};

}  // namespace
}  // namespace reference

const Backend& reference_backend() {
  static constexpr Backend backend = {"reference", "cpu", reference::table};
  return backend;
}

}  // namespace assay
