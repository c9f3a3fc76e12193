#pragma once

#include "kernels/kernel.h"

/// The slow, obvious reference of every operation: what op::... in program/operations/ says, loop by loop. The oracle
/// of every test of every backend, and the last implementation of the cpu backend's lists.
namespace assay::reference {

void embedding(const Call& call, const Memory& memory);
void count_positions(const Call& call, const Memory& memory);
void add_rows(const Call& call, const Memory& memory);
void layer_norm(const Call& call, const Memory& memory);
void rms_norm(const Call& call, const Memory& memory);
void append_cache(const Call& call, const Memory& memory);
void cached_attention(const Call& call, const Memory& memory);
void add_layer_norm(const Call& call, const Memory& memory);
void add_rms_norm(const Call& call, const Memory& memory);
void linear(const Call& call, const Memory& memory);
void quantized_linear(const Call& call, const Memory& memory);
void block_linear(const Call& call, const Memory& memory);
void quantized_block_linear(const Call& call, const Memory& memory);
void block_embedding(const Call& call, const Memory& memory);
void route(const Call& call, const Memory& memory);
void group_rows(const Call& call, const Memory& memory);
void expert_linear(const Call& call, const Memory& memory);
void expert_quantized_linear(const Call& call, const Memory& memory);
void expert_block_linear(const Call& call, const Memory& memory);
void expert_quantized_block_linear(const Call& call, const Memory& memory);
void merge_rows(const Call& call, const Memory& memory);
void activation(const Call& call, const Memory& memory);
void gated_activation(const Call& call, const Memory& memory);
void add(const Call& call, const Memory& memory);
void multiply(const Call& call, const Memory& memory);
void affine(const Call& call, const Memory& memory);
void soft_cap(const Call& call, const Memory& memory);
void rope(const Call& call, const Memory& memory);
void attention_scores(const Call& call, const Memory& memory);
void relative_scores(const Call& call, const Memory& memory);
void softmax(const Call& call, const Memory& memory);
void attention_context(const Call& call, const Memory& memory);
void attention(const Call& call, const Memory& memory);  ///< workspace: call.threads * T doubles
void select_row(const Call& call, const Memory& memory);
void mean_pool(const Call& call, const Memory& memory);
void concat_rows(const Call& call, const Memory& memory);
void cast(const Call& call, const Memory& memory);
void quantize_rows(const Call& call, const Memory& memory);
void quantize_weight(const Call& call, const Memory& memory);
void quantize_groups(const Call& call, const Memory& memory);
void quantize_blocks(const Call& call, const Memory& memory);
void gate(const Call& call, const Memory& memory);
void clamped_gate(const Call& call, const Memory& memory);
void dropout(const Call& call, const Memory& memory);
void cross_entropy(const Call& call, const Memory& memory);
void linear_input_gradient(const Call& call, const Memory& memory);
void quantized_linear_input_gradient(const Call& call, const Memory& memory);
void block_linear_input_gradient(const Call& call, const Memory& memory);
void linear_weight_gradient(const Call& call, const Memory& memory);
void route_gradient(const Call& call, const Memory& memory);
void group_rows_gradient(const Call& call, const Memory& memory);
void expert_linear_input_gradient(const Call& call, const Memory& memory);
void expert_linear_weight_gradient(const Call& call, const Memory& memory);
void merge_rows_gradient(const Call& call, const Memory& memory);
void sum_rows(const Call& call, const Memory& memory);
void layer_norm_gradient(const Call& call, const Memory& memory);
void rms_norm_gradient(const Call& call, const Memory& memory);
void activation_gradient(const Call& call, const Memory& memory);
void gate_gradient(const Call& call, const Memory& memory);
void soft_cap_gradient(const Call& call, const Memory& memory);
void relative_input_gradient(const Call& call, const Memory& memory);
void relative_table_gradient(const Call& call, const Memory& memory);
void softmax_gradient(const Call& call, const Memory& memory);
void attention_context_transposed(const Call& call, const Memory& memory);
void attention_gradient(const Call& call, const Memory& memory);  ///< workspace: attention_gradient_doubles
void embedding_gradient(const Call& call, const Memory& memory);
void add_rows_gradient(const Call& call, const Memory& memory);
void select_row_gradient(const Call& call, const Memory& memory);
void mean_pool_gradient(const Call& call, const Memory& memory);
void concat_columns(const Call& call, const Memory& memory);
void cross_entropy_gradient(const Call& call, const Memory& memory);
void round_float8(const Call& call, const Memory& memory);
void l2_norm(const Call& call, const Memory& memory);
void adamw(const Call& call, const Memory& memory);
void block_adamw(const Call& call, const Memory& memory);
void sgd(const Call& call, const Memory& memory);

/// Doubles of workspace that attention_gradient needs.
std::int64_t attention_gradient_doubles(const Call& call);

/// The reference of that operation as a table row has it; declines nothing but packed inputs that it cannot read.
template <void (*loops)(const Call&, const Memory&)>
Offer prepare(const Call& call, const MachineFacts&);

/// What `prepare` answers around a kernel: description, dtypes and verdict by the call.
Offer offer(const Call& call, void (*loops)(const Call&, const Memory&));

template <void (*loops)(const Call&, const Memory&)>
Offer prepare(const Call& call, const MachineFacts&) {
  return offer(call, loops);
}

}  // namespace assay::reference
