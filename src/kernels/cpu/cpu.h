#pragma once

#include "kernels/kernel.h"

/// The cpu backend's implementations, file by file; their order of preference stands in backend.cc.
namespace assay::cpu {

// linear.cc
Offer linear_onednn_tiles(const Call& call, const MachineFacts& facts);
Offer linear_few_bf16(const Call& call, const MachineFacts& facts);
Offer linear_few_f32(const Call& call, const MachineFacts& facts);
Offer linear_bf16_tiles(const Call& call, const MachineFacts& facts);
Offer linear_bf16(const Call& call, const MachineFacts& facts);
Offer linear_f16_chunks(const Call& call, const MachineFacts& facts);
Offer linear_f32(const Call& call, const MachineFacts& facts);
Offer linear_widened(const Call& call, const MachineFacts& facts);
Offer linear_onednn(const Call& call, const MachineFacts& facts);

// frozen_linear.cc: the gradient of a linear's input through a weight that is constant
Offer frozen_linear_tiles(const Call& call, const MachineFacts& facts);
Offer frozen_linear_bf16(const Call& call, const MachineFacts& facts);
Offer frozen_linear_f32(const Call& call, const MachineFacts& facts);
// trained_linear.cc: linear with a weight that changes, and both gradients
Offer trained_linear_tiles(const Call& call, const MachineFacts& facts);
Offer trained_linear_bf16(const Call& call, const MachineFacts& facts);
Offer trained_linear_f32(const Call& call, const MachineFacts& facts);

// sum_rows.cc
Offer sum_rows_vectors(const Call& call, const MachineFacts& facts);

// quantized_linear.cc
Offer quantized_linear_few_vnni(const Call& call, const MachineFacts& facts);
Offer quantized_linear_few_s8(const Call& call, const MachineFacts& facts);
Offer quantized_linear_few_bf16(const Call& call, const MachineFacts& facts);
Offer quantized_linear_few_f32(const Call& call, const MachineFacts& facts);
Offer quantized_linear_tiles(const Call& call, const MachineFacts& facts);
Offer quantized_linear_vnni(const Call& call, const MachineFacts& facts);
Offer quantized_linear_few_avx_vnni(const Call& call, const MachineFacts& facts);
Offer quantized_linear_avx_vnni(const Call& call, const MachineFacts& facts);
Offer quantized_linear_avx2_in_16_bits(const Call& call, const MachineFacts& facts);
Offer quantized_linear_avx2(const Call& call, const MachineFacts& facts);
Offer quantized_linear_bf16_tiles(const Call& call, const MachineFacts& facts);
Offer quantized_linear_bf16(const Call& call, const MachineFacts& facts);
Offer quantized_linear_f32(const Call& call, const MachineFacts& facts);

// block_linear.cc
Offer block_linear_few_bf16(const Call& call, const MachineFacts& facts);
Offer block_linear_few_f32(const Call& call, const MachineFacts& facts);
Offer quantized_block_linear_few(const Call& call, const MachineFacts& facts);
Offer quantized_block_linear_vnni(const Call& call, const MachineFacts& facts);
Offer quantized_block_linear_avx_vnni(const Call& call, const MachineFacts& facts);
Offer quantized_block_linear_avx2(const Call& call, const MachineFacts& facts);
Offer block_linear_bf16_tiles(const Call& call, const MachineFacts& facts);
Offer block_linear_bf16(const Call& call, const MachineFacts& facts);
Offer block_linear_f32(const Call& call, const MachineFacts& facts);

// block_embedding.cc
Offer block_embedding_rows(const Call& call, const MachineFacts& facts);

// embedding.cc
Offer embedding_vectors(const Call& call, const MachineFacts& facts);

// add_rows.cc
Offer add_rows_vectors(const Call& call, const MachineFacts& facts);

// layer_norm.cc
Offer layer_norm_vectors(const Call& call, const MachineFacts& facts);
Offer add_layer_norm_vectors(const Call& call, const MachineFacts& facts);

// rms_norm.cc
Offer rms_norm_vectors(const Call& call, const MachineFacts& facts);
Offer add_rms_norm_vectors(const Call& call, const MachineFacts& facts);

// merge_rows.cc
Offer merge_rows_vectors(const Call& call, const MachineFacts& facts);
Offer group_rows_gradient_vectors(const Call& call, const MachineFacts& facts);
Offer merge_rows_gradient_vectors(const Call& call, const MachineFacts& facts);

// activation.cc
Offer activation_vectors(const Call& call, const MachineFacts& facts);
Offer gated_activation_vectors(const Call& call, const MachineFacts& facts);

// elementwise.cc
Offer add_vectors(const Call& call, const MachineFacts& facts);
Offer multiply_vectors(const Call& call, const MachineFacts& facts);
Offer affine_vectors(const Call& call, const MachineFacts& facts);
Offer soft_cap_vectors(const Call& call, const MachineFacts& facts);
Offer soft_cap_gradient_vectors(const Call& call, const MachineFacts& facts);

// rope.cc
Offer rope_vectors(const Call& call, const MachineFacts& facts);

// append_cache.cc
Offer append_cache_vectors(const Call& call, const MachineFacts& facts);

// cached_attention.cc
Offer cached_attention_stream(const Call& call, const MachineFacts& facts);

// attention.cc
Offer attention_bf16_tiles(const Call& call, const MachineFacts& facts);
Offer attention_bf16_dot(const Call& call, const MachineFacts& facts);
Offer attention_f32(const Call& call, const MachineFacts& facts);
Offer cached_attention_bf16_tiles(const Call& call, const MachineFacts& facts);
Offer cached_attention_bf16_dot(const Call& call, const MachineFacts& facts);
Offer cached_attention_f32(const Call& call, const MachineFacts& facts);

// attention_parts.cc
Offer attention_scores_bf16_tiles(const Call& call, const MachineFacts& facts);
Offer attention_scores_bf16_dot(const Call& call, const MachineFacts& facts);
Offer attention_scores_f32(const Call& call, const MachineFacts& facts);
Offer softmax_vectors(const Call& call, const MachineFacts& facts);
Offer attention_context_bf16_tiles(const Call& call, const MachineFacts& facts);
Offer attention_context_bf16_dot(const Call& call, const MachineFacts& facts);
Offer attention_context_f32(const Call& call, const MachineFacts& facts);

// attention_gradient.cc
Offer attention_gradient_bf16_tiles(const Call& call, const MachineFacts& facts);
Offer attention_gradient_bf16_dot(const Call& call, const MachineFacts& facts);
Offer attention_gradient_f32(const Call& call, const MachineFacts& facts);
Offer attention_context_transposed_bf16_tiles(const Call& call, const MachineFacts& facts);
Offer attention_context_transposed_bf16_dot(const Call& call, const MachineFacts& facts);
Offer attention_context_transposed_f32(const Call& call, const MachineFacts& facts);

// select.cc
Offer select_row_vectors(const Call& call, const MachineFacts& facts);
Offer mean_pool_vectors(const Call& call, const MachineFacts& facts);
Offer concat_rows_vectors(const Call& call, const MachineFacts& facts);

// cast_and_quantize.cc
Offer cast_vectors(const Call& call, const MachineFacts& facts);
Offer quantize_rows_vectors(const Call& call, const MachineFacts& facts);
Offer quantize_weight_vectors(const Call& call, const MachineFacts& facts);
Offer quantize_groups_vectors(const Call& call, const MachineFacts& facts);

// activation_gradient.cc
Offer activation_gradient_vectors(const Call& call, const MachineFacts& facts);
Offer gate_vectors(const Call& call, const MachineFacts& facts);
Offer clamped_gate_vectors(const Call& call, const MachineFacts& facts);
Offer gate_gradient_vectors(const Call& call, const MachineFacts& facts);

// cross_entropy.cc
Offer cross_entropy_vectors(const Call& call, const MachineFacts& facts);
Offer cross_entropy_gradient_vectors(const Call& call, const MachineFacts& facts);

// softmax_gradient.cc
Offer softmax_gradient_vectors(const Call& call, const MachineFacts& facts);

// embedding_gradient.cc
Offer embedding_gradient_vectors(const Call& call, const MachineFacts& facts);
Offer add_rows_gradient_vectors(const Call& call, const MachineFacts& facts);

// select_gradient.cc
Offer select_row_gradient_vectors(const Call& call, const MachineFacts& facts);
Offer relative_scores_vectors(const Call& call, const MachineFacts& facts);
Offer relative_input_gradient_vectors(const Call& call, const MachineFacts& facts);
Offer relative_table_gradient_vectors(const Call& call, const MachineFacts& facts);
Offer mean_pool_gradient_vectors(const Call& call, const MachineFacts& facts);
Offer concat_columns_vectors(const Call& call, const MachineFacts& facts);

// dropout.cc
Offer dropout_vectors(const Call& call, const MachineFacts& facts);

// optimizer.cc
Offer l2_norm_vectors(const Call& call, const MachineFacts& facts);
Offer round_float8_vectors(const Call& call, const MachineFacts& facts);
Offer adamw_vectors(const Call& call, const MachineFacts& facts);
Offer block_adamw_vectors(const Call& call, const MachineFacts& facts);
Offer sgd_vectors(const Call& call, const MachineFacts& facts);

// norm_gradient.cc
Offer layer_norm_gradient_vectors(const Call& call, const MachineFacts& facts);
Offer rms_norm_gradient_vectors(const Call& call, const MachineFacts& facts);

}  // namespace assay::cpu
