#include <string>

#include "kernels/cuda/host/products.h"

namespace assay::ASSAY_CUDA_NAMESPACE {
namespace {

/// A scale that was measured beforehand, of what it writes or of what it multiplies.
bool has_static_scale(const Call& call) {
  return call.attributes.output_scale != 0 ||
         (call.operation == &op::quantized_linear && call.in(0).dtype == DType::s8 && !call.in(1).present);
}

template <Offer (*prepare)(const Call&, const MachineFacts&)>
Offer without_static_scales(const Call& call, const MachineFacts& facts) {
  if (has_static_scale(call))
    return Declined{"static scales run on no CUDA device yet; --precision int8 has dynamic ones"};
  return prepare(call, facts);
}

template <Offer (*prepare)(const Call&, const MachineFacts&)>
constexpr Implementation ours[] = {{"cuda", without_static_scales<prepare>}};

template <Offer (*library)(const Call&, const MachineFacts&), Offer (*plain)(const Call&, const MachineFacts&)>
constexpr Implementation product[] = {{"cublaslt", without_static_scales<library>},
                                      {"cuda, no tensor cores", without_static_scales<plain>}};

/// Weights of few bits are decoded by the threads that multiply where rows of x are few, else widened for the library.
constexpr Implementation block_linear[] = {
    {"cuda, few rows", without_static_scales<prepare_few_rows_of_blocks>},
    {"cublaslt, widened", without_static_scales<prepare_library_block_linear>},
    {"cuda, no tensor cores", without_static_scales<prepare_plain_block_linear>}};

constexpr Implementation quantized_linear[] = {
    {"cublaslt", without_static_scales<prepare_library_quantized_linear>},
    {"cuda, few rows", without_static_scales<prepare_few_rows_of_bytes>},
    {"cublaslt, widened", without_static_scales<prepare_library_widened_linear>},
    {"cuda, no tensor cores", without_static_scales<prepare_plain_quantized_linear>}};

/// What keeps cuDNN from a call is told beside what runs instead: the two differ by far in speed and memory.
template <Offer (*fused)(const Call&, const MachineFacts&), Offer (*library)(const Call&, const MachineFacts&),
          Offer (*plain)(const Call&, const MachineFacts&)>
constexpr Implementation whole_attention[] = {
    {"cudnn", fused, Refusal::reported}, {"cublaslt", library}, {"cuda, no tensor cores", plain}};

Offer decline_making_blocks(const Call& call, const MachineFacts&) {
  return Declined{std::string(call.attributes.blocks->name) +
                  ": blocks are made on the host, when weights are loaded; no CUDA device makes them"};
}

Offer decline_experts(const Call&, const MachineFacts&) {
  return Declined{"models with experts run on no CUDA device yet; --device cpu runs them"};
}

Offer decline_distances(const Call&, const MachineFacts&) {
  return Declined{"attention to relative positions runs on no CUDA device yet; --device cpu runs it"};
}

/// `place`: of the sinks among the inputs.
template <std::size_t place, Offer (*prepare)(const Call&, const MachineFacts&)>
Offer without_sinks(const Call& call, const MachineFacts& facts) {
  if (call.in(place).present) return Declined{"attention with sinks runs on no CUDA device yet; --device cpu runs it"};
  return prepare(call, facts);
}

constexpr OperationKernels kernels[] = {
    {&op::embedding, ours<prepare_embedding>},
    {&op::count_positions, ours<prepare_count_positions>},
    {&op::add_rows, ours<prepare_add_rows>},
    {&op::layer_norm, ours<prepare_layer_norm>},
    {&op::rms_norm, ours<prepare_rms_norm>},
    {&op::linear, product<in_bytes_or<prepare_float8_linear, or_in_f32<prepare_library_linear>>, prepare_plain_linear>},
    {&op::quantized_linear, quantized_linear},
    {&op::block_linear, block_linear},
    {&op::quantized_block_linear, ours<prepare_quantized_block_linear>},
    {&op::block_embedding, ours<prepare_block_embedding>},
    {&op::route, ours<decline_experts>},
    {&op::group_rows, ours<decline_experts>},
    {&op::expert_linear, ours<decline_experts>},
    {&op::expert_quantized_linear, ours<decline_experts>},
    {&op::expert_block_linear, ours<decline_experts>},
    {&op::expert_quantized_block_linear, ours<decline_experts>},
    {&op::merge_rows, ours<decline_experts>},
    {&op::activation, ours<prepare_activation>},
    {&op::gated_activation, ours<prepare_gated_activation>},
    {&op::add, ours<prepare_add>},
    {&op::multiply, ours<prepare_multiply>},
    {&op::affine, ours<prepare_affine>},
    {&op::soft_cap, ours<prepare_soft_cap>},
    {&op::rope, ours<prepare_rope>},
    {&op::attention_scores, product<or_in_f32<prepare_library_attention_scores>, prepare_plain_attention_scores>},
    {&op::relative_scores, ours<decline_distances>},
    {&op::softmax, ours<without_sinks<2, prepare_softmax>>},
    {&op::attention_context, product<or_in_f32<prepare_library_attention_context>, prepare_plain_attention_context>},
    {&op::attention,
     whole_attention<without_sinks<4, prepare_fused_attention>, without_sinks<4, or_in_f32<prepare_library_attention>>,
                     without_sinks<4, prepare_plain_attention>>},
    {&op::append_cache, ours<prepare_append_cache>},
    {&op::cached_attention, ours<without_sinks<7, prepare_cached_attention>>},
    {&op::add_layer_norm, ours<prepare_add_layer_norm>},
    {&op::add_rms_norm, ours<prepare_add_rms_norm>},
    {&op::select_row, ours<prepare_select_row>},
    {&op::mean_pool, ours<prepare_mean_pool>},
    {&op::cast, ours<prepare_cast>},
    {&op::quantize_rows, ours<prepare_quantize>},
    {&op::quantize_weight, ours<prepare_quantize>},
    {&op::quantize_groups, ours<prepare_quantize_groups>},
    {&op::quantize_blocks, ours<decline_making_blocks>},
    {&op::round_float8, ours<prepare_round_float8>},
    {&op::concat_rows, ours<prepare_concat_rows>},
    {&op::gate, ours<prepare_gate>},
    {&op::clamped_gate, ours<decline_experts>},
    {&op::dropout, ours<prepare_dropout>},
    {&op::cross_entropy, ours<prepare_cross_entropy>},
    {&op::linear_input_gradient,
     product<in_bytes_or<prepare_float8_input_gradient, or_in_f32<prepare_library_linear_input_gradient>>,
             prepare_plain_linear_input_gradient>},
    {&op::quantized_linear_input_gradient,
     product<prepare_library_quantized_linear_input_gradient, prepare_plain_quantized_linear_input_gradient>},
    {&op::block_linear_input_gradient,
     product<prepare_library_block_linear_input_gradient, prepare_plain_block_linear_input_gradient>},
    {&op::linear_weight_gradient,
     product<in_bytes_or<prepare_float8_weight_gradient, or_in_f32<prepare_library_linear_weight_gradient>>,
             prepare_plain_linear_weight_gradient>},
    {&op::route_gradient, ours<decline_experts>},
    {&op::group_rows_gradient, ours<decline_experts>},
    {&op::expert_linear_input_gradient, ours<decline_experts>},
    {&op::expert_linear_weight_gradient, ours<decline_experts>},
    {&op::merge_rows_gradient, ours<decline_experts>},
    {&op::sum_rows, ours<prepare_sum_rows>},
    {&op::layer_norm_gradient, ours<prepare_norm_gradient>},
    {&op::rms_norm_gradient, ours<prepare_norm_gradient>},
    {&op::activation_gradient, ours<prepare_activation_gradient>},
    {&op::gate_gradient, ours<prepare_gate_gradient>},
    {&op::soft_cap_gradient, ours<prepare_soft_cap_gradient>},
    {&op::relative_input_gradient, ours<decline_distances>},
    {&op::relative_table_gradient, ours<decline_distances>},
    {&op::softmax_gradient, ours<prepare_softmax_gradient>},
    {&op::attention_context_transposed,
     product<or_in_f32<prepare_library_attention_context_transposed>, prepare_plain_attention_context_transposed>},
    {&op::attention_gradient,
     whole_attention<prepare_fused_attention_gradient, or_in_f32<prepare_library_attention_gradient>,
                     prepare_plain_attention_gradient>},
    {&op::embedding_gradient, ours<prepare_embedding_gradient>},
    {&op::add_rows_gradient, ours<prepare_add_rows_gradient>},
    {&op::select_row_gradient, ours<prepare_select_row_gradient>},
    {&op::mean_pool_gradient, ours<prepare_mean_pool_gradient>},
    {&op::concat_columns, ours<prepare_concat_columns>},
    {&op::cross_entropy_gradient, ours<prepare_cross_entropy_gradient>},
    {&op::l2_norm, ours<prepare_l2_norm>},
    {&op::adamw, ours<prepare_adamw>},
    {&op::block_adamw, ours<prepare_block_adamw>},
    {&op::sgd, ours<prepare_sgd>},
};

}  // namespace

std::span<const OperationKernels> table() {
  return kernels;
}

}  // namespace assay::ASSAY_CUDA_NAMESPACE
