#pragma once

#include "kernels/cuda/launch.h"

/// What the CUDA backend's table is made of: kernels of ours for every operation, and the libraries' where they are
/// faster (products.h). `prepare_plain_...` are products without tensor cores, which stand behind the libraries'.
namespace assay::ASSAY_CUDA_NAMESPACE {

Offer prepare_embedding(const Call& call, const MachineFacts& facts);
Offer prepare_count_positions(const Call& call, const MachineFacts& facts);
Offer prepare_add_rows(const Call& call, const MachineFacts& facts);
Offer prepare_layer_norm(const Call& call, const MachineFacts& facts);
Offer prepare_rms_norm(const Call& call, const MachineFacts& facts);
Offer prepare_add_layer_norm(const Call& call, const MachineFacts& facts);
Offer prepare_add_rms_norm(const Call& call, const MachineFacts& facts);
Offer prepare_plain_linear(const Call& call, const MachineFacts& facts);
Offer prepare_plain_quantized_linear(const Call& call, const MachineFacts& facts);
/// Weights of few bits, decoded in registers (block_linear.cc).
Offer prepare_few_rows_of_bytes(const Call& call, const MachineFacts& facts);
Offer prepare_few_rows_of_blocks(const Call& call, const MachineFacts& facts);
Offer prepare_plain_block_linear(const Call& call, const MachineFacts& facts);
Offer prepare_quantized_block_linear(const Call& call, const MachineFacts& facts);
Offer prepare_block_embedding(const Call& call, const MachineFacts& facts);
Offer prepare_plain_block_linear_input_gradient(const Call& call, const MachineFacts& facts);
Offer prepare_plain_quantized_linear_input_gradient(const Call& call, const MachineFacts& facts);
Offer prepare_activation(const Call& call, const MachineFacts& facts);
Offer prepare_gated_activation(const Call& call, const MachineFacts& facts);
Offer prepare_gate(const Call& call, const MachineFacts& facts);
Offer prepare_add(const Call& call, const MachineFacts& facts);
Offer prepare_multiply(const Call& call, const MachineFacts& facts);
Offer prepare_affine(const Call& call, const MachineFacts& facts);
Offer prepare_soft_cap(const Call& call, const MachineFacts& facts);
Offer prepare_soft_cap_gradient(const Call& call, const MachineFacts& facts);
Offer prepare_rope(const Call& call, const MachineFacts& facts);
Offer prepare_plain_attention_scores(const Call& call, const MachineFacts& facts);
Offer prepare_softmax(const Call& call, const MachineFacts& facts);
Offer prepare_plain_attention_context(const Call& call, const MachineFacts& facts);
Offer prepare_plain_attention(const Call& call, const MachineFacts& facts);
Offer prepare_append_cache(const Call& call, const MachineFacts& facts);
Offer prepare_cached_attention(const Call& call, const MachineFacts& facts);
Offer prepare_select_row(const Call& call, const MachineFacts& facts);
Offer prepare_mean_pool(const Call& call, const MachineFacts& facts);
Offer prepare_concat_rows(const Call& call, const MachineFacts& facts);
Offer prepare_concat_columns(const Call& call, const MachineFacts& facts);
Offer prepare_cast(const Call& call, const MachineFacts& facts);
Offer prepare_quantize(const Call& call, const MachineFacts& facts);
Offer prepare_quantize_groups(const Call& call, const MachineFacts& facts);
Offer prepare_round_float8(const Call& call, const MachineFacts& facts);
Offer prepare_dropout(const Call& call, const MachineFacts& facts);
Offer prepare_cross_entropy(const Call& call, const MachineFacts& facts);
Offer prepare_plain_linear_input_gradient(const Call& call, const MachineFacts& facts);
Offer prepare_plain_linear_weight_gradient(const Call& call, const MachineFacts& facts);
Offer prepare_sum_rows(const Call& call, const MachineFacts& facts);
Offer prepare_norm_gradient(const Call& call, const MachineFacts& facts);
Offer prepare_activation_gradient(const Call& call, const MachineFacts& facts);
Offer prepare_gate_gradient(const Call& call, const MachineFacts& facts);
Offer prepare_softmax_gradient(const Call& call, const MachineFacts& facts);
Offer prepare_plain_attention_context_transposed(const Call& call, const MachineFacts& facts);
Offer prepare_plain_attention_gradient(const Call& call, const MachineFacts& facts);
Offer prepare_embedding_gradient(const Call& call, const MachineFacts& facts);
Offer prepare_add_rows_gradient(const Call& call, const MachineFacts& facts);
Offer prepare_select_row_gradient(const Call& call, const MachineFacts& facts);
Offer prepare_mean_pool_gradient(const Call& call, const MachineFacts& facts);
Offer prepare_cross_entropy_gradient(const Call& call, const MachineFacts& facts);
Offer prepare_l2_norm(const Call& call, const MachineFacts& facts);
Offer prepare_adamw(const Call& call, const MachineFacts& facts);
Offer prepare_block_adamw(const Call& call, const MachineFacts& facts);
Offer prepare_sgd(const Call& call, const MachineFacts& facts);

/// Every operation's kernels, best first.
std::span<const OperationKernels> table();

}  // namespace assay::ASSAY_CUDA_NAMESPACE
