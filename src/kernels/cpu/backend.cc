#include "kernels/cpu/cpu.h"
#include "kernels/experts.h"
#include "kernels/kernel.h"
#include "kernels/one_by_one.h"
#include "kernels/reference/loops.h"

namespace assay {
namespace cpu {
namespace {

/// The last of every list: slow, and takes everything.
template <void (*loops)(const Call&, const Memory&)>
constexpr Implementation reference_loops = {"reference loops", reference::prepare<loops>};
/// The same for operations over a list of tensors.
template <void (*loops)(const Call&, const Memory&)>
constexpr Implementation reference_list = {"reference loops", each_listed<reference::prepare<loops>>};

constexpr Implementation embedding[] = {{"vectors", embedding_vectors}, reference_loops<reference::embedding>};
constexpr Implementation count_positions[] = {reference_loops<reference::count_positions>};
constexpr Implementation add_rows[] = {{"vectors", add_rows_vectors}, reference_loops<reference::add_rows>};
constexpr Implementation layer_norm[] = {{"vectors", layer_norm_vectors}, reference_loops<reference::layer_norm>};
constexpr Implementation rms_norm[] = {{"vectors", rms_norm_vectors}, reference_loops<reference::rms_norm>};
// The order where nothing was measured; rates of probe overrule it (prepare).
constexpr Implementation linear[] = {
    {"avx512 bf16 dot products, few rows", linear_few_bf16},
    {"f32, few rows", linear_few_f32},
    {"amx bf16 tiles", linear_bf16_tiles},
    {"onednn tiles", linear_onednn_tiles},
    {"avx512 bf16 dot products", linear_bf16},
    {"avx512 fp16", linear_f16_chunks},
    {"f32", linear_f32},
    {"f32 from 16-bit storage", linear_widened},
    {"amx bf16 tiles, packed as it runs", trained_linear_tiles},
    {"avx512 bf16 dot products, packed as it runs", trained_linear_bf16},
    {"f32, packed as it runs", trained_linear_f32},
    {"onednn", linear_onednn},
    reference_loops<reference::linear>,
};
constexpr Implementation quantized_linear[] = {
    {"avx512 vnni, few rows", quantized_linear_few_vnni},
    {"avx-vnni, few rows", quantized_linear_few_avx_vnni},
    {"avx2 s8, few rows", quantized_linear_few_s8},
    {"avx512 bf16 dot products from 8 bits, few rows", quantized_linear_few_bf16},
    {"f32 from 8 bits, few rows", quantized_linear_few_f32},
    {"amx s8 tiles", quantized_linear_tiles},
    {"avx512 vnni", quantized_linear_vnni},
    {"avx-vnni", quantized_linear_avx_vnni},
    {"avx2 s8 in 16 bits", quantized_linear_avx2_in_16_bits},
    {"avx2 s8", quantized_linear_avx2},
    {"amx bf16 tiles from 8 bits", quantized_linear_bf16_tiles},
    {"avx512 bf16 dot products from 8 bits", quantized_linear_bf16},
    {"f32 from 8 bits", quantized_linear_f32},
    reference_loops<reference::quantized_linear>,
};
constexpr Implementation block_linear[] = {
    {"bf16 dot products of few rows", block_linear_few_bf16},
    {"f32 of few rows", block_linear_few_f32},
    {"amx bf16 tiles from blocks", block_linear_bf16_tiles},
    {"avx512 bf16 dot products from blocks", block_linear_bf16},
    {"f32 from blocks", block_linear_f32},
    reference_loops<reference::block_linear>,
};
// A group's rows are counted when it runs: those of oneDNN are not.
constexpr Implementation expert_linear[] = {
    {"amx bf16 tiles", each_expert<linear_bf16_tiles>},
    {"avx512 bf16 dot products", each_expert<linear_bf16>},
    {"avx512 fp16", each_expert<linear_f16_chunks>},
    {"f32", each_expert<linear_f32>},
    {"f32 from 16-bit storage", each_expert<linear_widened>},
    {"amx bf16 tiles, packed as it runs", each_expert<trained_linear_tiles>},
    {"avx512 bf16 dot products, packed as it runs", each_expert<trained_linear_bf16>},
    {"f32, packed as it runs", each_expert<trained_linear_f32>},
    reference_loops<reference::expert_linear>,
};
constexpr Implementation expert_quantized_linear[] = {
    {"amx s8 tiles", each_expert<quantized_linear_tiles>},
    {"avx512 vnni", each_expert<quantized_linear_vnni>},
    {"avx-vnni", each_expert<quantized_linear_avx_vnni>},
    {"avx2 s8", each_expert<quantized_linear_avx2>},
    {"amx bf16 tiles from 8 bits", each_expert<quantized_linear_bf16_tiles>},
    {"avx512 bf16 dot products from 8 bits", each_expert<quantized_linear_bf16>},
    {"f32 from 8 bits", each_expert<quantized_linear_f32>},
    reference_loops<reference::expert_quantized_linear>,
};
constexpr Implementation expert_block_linear[] = {
    {"bf16 dot products of few rows", each_expert<block_linear_few_bf16>},
    {"f32 of few rows", each_expert<block_linear_few_f32>},
    {"amx bf16 tiles from blocks", each_expert<block_linear_bf16_tiles>},
    {"avx512 bf16 dot products from blocks", each_expert<block_linear_bf16>},
    {"f32 from blocks", each_expert<block_linear_f32>},
    reference_loops<reference::expert_block_linear>,
};
constexpr Implementation quantized_block_linear[] = {
    {"avx2 of few rows, blocks as they are", quantized_block_linear_few},
    {"avx512 vnni", quantized_block_linear_vnni},
    {"avx-vnni", quantized_block_linear_avx_vnni},
    {"avx2", quantized_block_linear_avx2},
    reference_loops<reference::quantized_block_linear>,
};
constexpr Implementation expert_quantized_block_linear[] = {
    {"avx2 of few rows, blocks as they are", each_expert<quantized_block_linear_few>},
    {"avx512 vnni", each_expert<quantized_block_linear_vnni>},
    {"avx-vnni", each_expert<quantized_block_linear_avx_vnni>},
    {"avx2", each_expert<quantized_block_linear_avx2>},
    reference_loops<reference::expert_quantized_block_linear>,
};
constexpr Implementation route[] = {reference_loops<reference::route>};
constexpr Implementation group_rows[] = {reference_loops<reference::group_rows>};
constexpr Implementation merge_rows[] = {{"vectors", merge_rows_vectors}, reference_loops<reference::merge_rows>};
constexpr Implementation block_embedding[] = {{"decoded rows", block_embedding_rows},
                                              reference_loops<reference::block_embedding>};
constexpr Implementation activation[] = {{"vectors", activation_vectors}, reference_loops<reference::activation>};
constexpr Implementation gated_activation[] = {{"vectors", gated_activation_vectors},
                                               reference_loops<reference::gated_activation>};
constexpr Implementation add[] = {{"vectors", add_vectors}, reference_loops<reference::add>};
constexpr Implementation multiply[] = {{"vectors", multiply_vectors}, reference_loops<reference::multiply>};
constexpr Implementation affine[] = {{"vectors", affine_vectors}, reference_loops<reference::affine>};
constexpr Implementation soft_cap[] = {{"vectors", soft_cap_vectors}, reference_loops<reference::soft_cap>};
constexpr Implementation soft_cap_gradient[] = {{"vectors", soft_cap_gradient_vectors},
                                                reference_loops<reference::soft_cap_gradient>};
constexpr Implementation rope[] = {{"vectors", rope_vectors}, reference_loops<reference::rope>};
constexpr Implementation attention_scores[] = {
    {"bf16 tiles", attention_scores_bf16_tiles},
    {"bf16 dot products", attention_scores_bf16_dot},
    {"f32", attention_scores_f32},
    reference_loops<reference::attention_scores>,
};
constexpr Implementation relative_scores[] = {{"vectors", relative_scores_vectors},
                                              reference_loops<reference::relative_scores>};
constexpr Implementation softmax[] = {{"vectors", softmax_vectors}, reference_loops<reference::softmax>};
constexpr Implementation attention_context[] = {
    {"bf16 tiles", attention_context_bf16_tiles},
    {"bf16 dot products", attention_context_bf16_dot},
    {"f32", attention_context_f32},
    reference_loops<reference::attention_context>,
};
constexpr Implementation attention[] = {
    {"bf16 tiles", attention_bf16_tiles},
    {"bf16 dot products", attention_bf16_dot},
    {"f32", attention_f32},
    reference_loops<reference::attention>,
};
constexpr Implementation append_cache[] = {{"vectors", append_cache_vectors}, reference_loops<reference::append_cache>};
constexpr Implementation cached_attention[] = {{"bf16 tiles", cached_attention_bf16_tiles},
                                               {"bf16 dot products", cached_attention_bf16_dot},
                                               {"f32", cached_attention_f32},
                                               {"stream", cached_attention_stream},
                                               reference_loops<reference::cached_attention>};
constexpr Implementation add_layer_norm[] = {{"vectors", add_layer_norm_vectors},
                                             reference_loops<reference::add_layer_norm>};
constexpr Implementation add_rms_norm[] = {{"vectors", add_rms_norm_vectors}, reference_loops<reference::add_rms_norm>};
constexpr Implementation select_row[] = {{"vectors", select_row_vectors}, reference_loops<reference::select_row>};
constexpr Implementation mean_pool[] = {{"vectors", mean_pool_vectors}, reference_loops<reference::mean_pool>};
constexpr Implementation cast[] = {{"vectors", cast_vectors}, reference_loops<reference::cast>};
constexpr Implementation quantize_rows[] = {{"vectors", quantize_rows_vectors},
                                            reference_loops<reference::quantize_rows>};
constexpr Implementation quantize_weight[] = {{"vectors", quantize_weight_vectors},
                                              reference_loops<reference::quantize_weight>};
constexpr Implementation quantize_groups[] = {{"vectors", quantize_groups_vectors},
                                              reference_loops<reference::quantize_groups>};
constexpr Implementation quantize_blocks[] = {reference_loops<reference::quantize_blocks>};
constexpr Implementation concat_rows[] = {{"vectors", concat_rows_vectors}, reference_loops<reference::concat_rows>};

constexpr Implementation gate[] = {{"vectors", gate_vectors}, reference_loops<reference::gate>};
constexpr Implementation clamped_gate[] = {{"vectors", clamped_gate_vectors}, reference_loops<reference::clamped_gate>};
constexpr Implementation dropout[] = {{"vectors", dropout_vectors}, reference_loops<reference::dropout>};
constexpr Implementation cross_entropy[] = {{"vectors", cross_entropy_vectors},
                                            reference_loops<reference::cross_entropy>};
constexpr Implementation linear_input_gradient[] = {
    {"amx bf16 tiles, packed as it runs", trained_linear_tiles},
    {"avx512 bf16 dot products, packed as it runs", trained_linear_bf16},
    {"f32, packed as it runs", trained_linear_f32},
    {"amx bf16 tiles from panels", frozen_linear_tiles},
    {"avx512 bf16 dot products from panels", frozen_linear_bf16},
    {"f32 from panels", frozen_linear_f32},
    reference_loops<reference::linear_input_gradient>,
};
constexpr Implementation quantized_linear_input_gradient[] = {
    {"amx bf16 tiles from panels", frozen_linear_tiles},
    {"avx512 bf16 dot products from panels", frozen_linear_bf16},
    {"f32 from panels", frozen_linear_f32},
    reference_loops<reference::quantized_linear_input_gradient>,
};
constexpr Implementation block_linear_input_gradient[] = {
    {"amx bf16 tiles from panels", frozen_linear_tiles},
    {"avx512 bf16 dot products from panels", frozen_linear_bf16},
    {"f32 from panels", frozen_linear_f32},
    reference_loops<reference::block_linear_input_gradient>,
};
constexpr Implementation linear_weight_gradient[] = {
    {"amx bf16 tiles, packed as it runs", trained_linear_tiles},
    {"avx512 bf16 dot products, packed as it runs", trained_linear_bf16},
    {"f32, packed as it runs", trained_linear_f32},
    reference_loops<reference::linear_weight_gradient>,
};
constexpr Implementation route_gradient[] = {reference_loops<reference::route_gradient>};
constexpr Implementation group_rows_gradient[] = {{"vectors", group_rows_gradient_vectors},
                                                  reference_loops<reference::group_rows_gradient>};
constexpr Implementation expert_linear_input_gradient[] = {
    {"amx bf16 tiles, packed as it runs", each_expert<trained_linear_tiles>},
    {"avx512 bf16 dot products, packed as it runs", each_expert<trained_linear_bf16>},
    {"f32, packed as it runs", each_expert<trained_linear_f32>},
    {"amx bf16 tiles from panels", each_expert<frozen_linear_tiles>},
    {"avx512 bf16 dot products from panels", each_expert<frozen_linear_bf16>},
    {"f32 from panels", each_expert<frozen_linear_f32>},
    reference_loops<reference::expert_linear_input_gradient>,
};
constexpr Implementation expert_linear_weight_gradient[] = {
    {"amx bf16 tiles, packed as it runs", each_weight_gradient<trained_linear_tiles>},
    {"avx512 bf16 dot products, packed as it runs", each_weight_gradient<trained_linear_bf16>},
    {"f32, packed as it runs", each_weight_gradient<trained_linear_f32>},
    reference_loops<reference::expert_linear_weight_gradient>,
};
constexpr Implementation merge_rows_gradient[] = {{"vectors", merge_rows_gradient_vectors},
                                                  reference_loops<reference::merge_rows_gradient>};
constexpr Implementation sum_rows[] = {{"vectors", sum_rows_vectors}, reference_loops<reference::sum_rows>};
constexpr Implementation layer_norm_gradient[] = {{"vectors", layer_norm_gradient_vectors},
                                                  reference_loops<reference::layer_norm_gradient>};
constexpr Implementation rms_norm_gradient[] = {{"vectors", rms_norm_gradient_vectors},
                                                reference_loops<reference::rms_norm_gradient>};
constexpr Implementation activation_gradient[] = {{"vectors", activation_gradient_vectors},
                                                  reference_loops<reference::activation_gradient>};
constexpr Implementation gate_gradient[] = {{"vectors", gate_gradient_vectors},
                                            reference_loops<reference::gate_gradient>};
constexpr Implementation relative_input_gradient[] = {{"vectors", relative_input_gradient_vectors},
                                                      reference_loops<reference::relative_input_gradient>};
constexpr Implementation relative_table_gradient[] = {{"vectors", relative_table_gradient_vectors},
                                                      reference_loops<reference::relative_table_gradient>};
constexpr Implementation softmax_gradient[] = {{"vectors", softmax_gradient_vectors},
                                               reference_loops<reference::softmax_gradient>};
constexpr Implementation attention_context_transposed[] = {
    {"bf16 tiles", attention_context_transposed_bf16_tiles},
    {"bf16 dot products", attention_context_transposed_bf16_dot},
    {"f32", attention_context_transposed_f32},
    reference_loops<reference::attention_context_transposed>,
};
constexpr Implementation attention_gradient[] = {
    {"bf16 tiles", attention_gradient_bf16_tiles},
    {"bf16 dot products", attention_gradient_bf16_dot},
    {"f32", attention_gradient_f32},
    reference_loops<reference::attention_gradient>,
};
constexpr Implementation embedding_gradient[] = {{"vectors", embedding_gradient_vectors},
                                                 reference_loops<reference::embedding_gradient>};
constexpr Implementation add_rows_gradient[] = {{"vectors", add_rows_gradient_vectors},
                                                reference_loops<reference::add_rows_gradient>};
constexpr Implementation select_row_gradient[] = {{"vectors", select_row_gradient_vectors},
                                                  reference_loops<reference::select_row_gradient>};
constexpr Implementation mean_pool_gradient[] = {{"vectors", mean_pool_gradient_vectors},
                                                 reference_loops<reference::mean_pool_gradient>};
constexpr Implementation concat_columns[] = {{"vectors", concat_columns_vectors},
                                             reference_loops<reference::concat_columns>};
constexpr Implementation cross_entropy_gradient[] = {{"vectors", cross_entropy_gradient_vectors},
                                                     reference_loops<reference::cross_entropy_gradient>};
constexpr Implementation l2_norm[] = {{"vectors", each_listed<l2_norm_vectors>}, reference_list<reference::l2_norm>};
constexpr Implementation round_float8[] = {{"vectors", round_float8_vectors}, reference_loops<reference::round_float8>};
constexpr Implementation block_adamw[] = {{"vectors", each_listed<block_adamw_vectors>},
                                          reference_list<reference::block_adamw>};
constexpr Implementation adamw[] = {{"vectors", each_listed<adamw_vectors>}, reference_list<reference::adamw>};
constexpr Implementation sgd[] = {{"vectors", each_listed<sgd_vectors>}, reference_list<reference::sgd>};

constexpr OperationKernels table[] = {
    {&op::embedding, embedding},
    {&op::count_positions, count_positions},
    {&op::add_rows, add_rows},
    {&op::layer_norm, layer_norm},
    {&op::rms_norm, rms_norm},
    {&op::linear, linear},
    {&op::quantized_linear, quantized_linear},
    {&op::block_linear, block_linear},
    {&op::quantized_block_linear, quantized_block_linear},
    {&op::block_embedding, block_embedding},
    {&op::route, route},
    {&op::group_rows, group_rows},
    {&op::expert_linear, expert_linear},
    {&op::expert_quantized_linear, expert_quantized_linear},
    {&op::expert_block_linear, expert_block_linear},
    {&op::expert_quantized_block_linear, expert_quantized_block_linear},
    {&op::merge_rows, merge_rows},
    {&op::activation, activation},
    {&op::gated_activation, gated_activation},
    {&op::add, add},
    {&op::multiply, multiply},
    {&op::affine, affine},
    {&op::soft_cap, soft_cap},
    {&op::rope, rope},
    {&op::attention_scores, attention_scores},
    {&op::relative_scores, relative_scores},
    {&op::softmax, softmax},
    {&op::attention_context, attention_context},
    {&op::attention, attention},
    {&op::append_cache, append_cache},
    {&op::cached_attention, cached_attention},
    {&op::add_layer_norm, add_layer_norm},
    {&op::add_rms_norm, add_rms_norm},
    {&op::select_row, select_row},
    {&op::mean_pool, mean_pool},
    {&op::cast, cast},
    {&op::quantize_rows, quantize_rows},
    {&op::quantize_weight, quantize_weight},
    {&op::quantize_groups, quantize_groups},
    {&op::quantize_blocks, quantize_blocks},
    {&op::concat_rows, concat_rows},
    {&op::gate, gate},
    {&op::clamped_gate, clamped_gate},
    {&op::dropout, dropout},
    {&op::cross_entropy, cross_entropy},
    {&op::linear_input_gradient, linear_input_gradient},
    {&op::quantized_linear_input_gradient, quantized_linear_input_gradient},
    {&op::block_linear_input_gradient, block_linear_input_gradient},
    {&op::linear_weight_gradient, linear_weight_gradient},
    {&op::route_gradient, route_gradient},
    {&op::group_rows_gradient, group_rows_gradient},
    {&op::expert_linear_input_gradient, expert_linear_input_gradient},
    {&op::expert_linear_weight_gradient, expert_linear_weight_gradient},
    {&op::merge_rows_gradient, merge_rows_gradient},
    {&op::sum_rows, sum_rows},
    {&op::layer_norm_gradient, layer_norm_gradient},
    {&op::rms_norm_gradient, rms_norm_gradient},
    {&op::activation_gradient, activation_gradient},
    {&op::gate_gradient, gate_gradient},
    {&op::soft_cap_gradient, soft_cap_gradient},
    {&op::relative_input_gradient, relative_input_gradient},
    {&op::relative_table_gradient, relative_table_gradient},
    {&op::softmax_gradient, softmax_gradient},
    {&op::attention_context_transposed, attention_context_transposed},
    {&op::attention_gradient, attention_gradient},
    {&op::embedding_gradient, embedding_gradient},
    {&op::add_rows_gradient, add_rows_gradient},
    {&op::select_row_gradient, select_row_gradient},
    {&op::mean_pool_gradient, mean_pool_gradient},
    {&op::concat_columns, concat_columns},
    {&op::cross_entropy_gradient, cross_entropy_gradient},
    {&op::l2_norm, l2_norm},
    {&op::round_float8, round_float8},
    {&op::adamw, adamw},
    {&op::block_adamw, block_adamw},
    {&op::sgd, sgd},
};

}  // namespace
}  // namespace cpu

const Backend& cpu_backend() {
  static constexpr Backend backend = {"cpu", "cpu", cpu::table};
  return backend;
}

}  // namespace assay
