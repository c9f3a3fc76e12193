#include "kernels/cpu/cpu.h"
#include "kernels/kernel.h"
#include "kernels/reference/loops.h"

namespace assay {
namespace cpu {
namespace {

/// The last of every list: slow, and takes everything.
template <void (*loops)(const Call&, const Memory&)>
constexpr Implementation reference_loops = {"reference loops", reference::prepare<loops>};

constexpr Implementation embedding[] = {{"vectors", embedding_vectors}, reference_loops<reference::embedding>};
constexpr Implementation add_rows[] = {{"vectors", add_rows_vectors}, reference_loops<reference::add_rows>};
constexpr Implementation layer_norm[] = {{"vectors", layer_norm_vectors}, reference_loops<reference::layer_norm>};
constexpr Implementation rms_norm[] = {{"vectors", rms_norm_vectors}, reference_loops<reference::rms_norm>};
// Our tiles come first where they were measured to be the fastest, and behind oneDNN's where nothing was measured.
constexpr Implementation linear[] = {
    {bf16_tiles_name, linear_bf16_tiles_if_fastest},
    {"onednn tiles", linear_onednn_tiles},
    {bf16_tiles_name, linear_bf16_tiles},
    {"avx512 bf16 dot products", linear_bf16},
    {"avx512 fp16", linear_f16_chunks},
    {"f32", linear_f32},
    {"f32 from 16-bit storage", linear_widened},
    {"onednn", linear_onednn},
    reference_loops<reference::linear>,
};
constexpr Implementation quantized_linear[] = {
    {"amx s8 tiles", quantized_linear_tiles},
    {"avx512 vnni", quantized_linear_vnni},
    {"amx bf16 tiles from s8", quantized_linear_bf16_tiles},
    {"avx512 bf16 dot products from s8", quantized_linear_bf16},
    {"f32 from s8", quantized_linear_f32},
    reference_loops<reference::quantized_linear>,
};
constexpr Implementation activation[] = {{"vectors", activation_vectors}, reference_loops<reference::activation>};
constexpr Implementation gated_activation[] = {{"vectors", gated_activation_vectors},
                                               reference_loops<reference::gated_activation>};
constexpr Implementation add[] = {{"vectors", add_vectors}, reference_loops<reference::add>};
constexpr Implementation multiply[] = {{"vectors", multiply_vectors}, reference_loops<reference::multiply>};
constexpr Implementation rope[] = {{"vectors", rope_vectors}, reference_loops<reference::rope>};
constexpr Implementation attention_scores[] = {
    {"bf16 tiles", attention_scores_bf16_tiles},
    {"bf16 dot products", attention_scores_bf16_dot},
    {"f32", attention_scores_f32},
    reference_loops<reference::attention_scores>,
};
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
constexpr Implementation concat_rows[] = {{"vectors", concat_rows_vectors}, reference_loops<reference::concat_rows>};

constexpr OperationKernels table[] = {
    {&op::embedding, embedding},
    {&op::add_rows, add_rows},
    {&op::layer_norm, layer_norm},
    {&op::rms_norm, rms_norm},
    {&op::linear, linear},
    {&op::quantized_linear, quantized_linear},
    {&op::activation, activation},
    {&op::gated_activation, gated_activation},
    {&op::add, add},
    {&op::multiply, multiply},
    {&op::rope, rope},
    {&op::attention_scores, attention_scores},
    {&op::softmax, softmax},
    {&op::attention_context, attention_context},
    {&op::attention, attention},
    {&op::add_layer_norm, add_layer_norm},
    {&op::add_rms_norm, add_rms_norm},
    {&op::select_row, select_row},
    {&op::mean_pool, mean_pool},
    {&op::cast, cast},
    {&op::quantize_rows, quantize_rows},
    {&op::quantize_weight, quantize_weight},
    {&op::concat_rows, concat_rows},
};

}  // namespace
}  // namespace cpu

const Backend& cpu_backend() {
  static constexpr Backend backend = {"cpu", "cpu", cpu::table};
  return backend;
}

}  // namespace assay
