#pragma once

#include <utility>
#include <variant>
#include <vector>

#include "kernels/cuda/cuda.h"
#include "kernels/verdict.h"

/// Matrix products through cuBLASLt, and attention through cuDNN.
namespace assay::ASSAY_CUDA_NAMESPACE {

Offer prepare_library_linear(const Call& call, const MachineFacts& facts);
Offer prepare_library_quantized_linear(const Call& call, const MachineFacts& facts);
/// s8 weights without quantised activations.
Offer prepare_library_widened_linear(const Call& call, const MachineFacts& facts);
Offer prepare_library_block_linear(const Call& call, const MachineFacts& facts);
Offer prepare_library_block_linear_input_gradient(const Call& call, const MachineFacts& facts);
Offer prepare_library_quantized_linear_input_gradient(const Call& call, const MachineFacts& facts);
Offer prepare_library_linear_input_gradient(const Call& call, const MachineFacts& facts);
Offer prepare_library_linear_weight_gradient(const Call& call, const MachineFacts& facts);
Offer prepare_library_attention_scores(const Call& call, const MachineFacts& facts);
Offer prepare_library_attention_context(const Call& call, const MachineFacts& facts);
Offer prepare_library_attention_context_transposed(const Call& call, const MachineFacts& facts);
/// Scores and probabilities are stored in the workspace, in the operands' dtype.
Offer prepare_library_attention(const Call& call, const MachineFacts& facts);
Offer prepare_library_attention_gradient(const Call& call, const MachineFacts& facts);

/// As asked; where the library has no algorithm for tf32 (any before compute capability 8.0, some of odd sizes), the
/// same in f32: all products of the operation, and the ledger says f32.
template <auto prepare>
Offer or_in_f32(const Call& call, const MachineFacts& facts) {
  Offer offer = prepare(call, facts);
  if (std::holds_alternative<Prepared>(offer)) return offer;
  Call in_f32 = call;
  bool asks_tf32 = call.attributes.operand == DType::tf32;
  in_f32.attributes.operand = stored_as(call.attributes.operand);
  for (std::vector<Argument>* arguments : {&in_f32.inputs, &in_f32.outputs}) {
    for (Argument& argument : *arguments) {
      asks_tf32 = asks_tf32 || argument.dtype == DType::tf32;
      argument.dtype = stored_as(argument.dtype);
    }
  }
  return asks_tf32 ? prepare(in_f32, facts) : std::move(offer);
}

/// Of operands that were rounded to 8 bits by a scale a tensor (Attributes::math): multiplied as bytes where a GPU
/// does, else as what they are stored in.
Offer prepare_float8_linear(const Call& call, const MachineFacts& facts);
Offer prepare_float8_input_gradient(const Call& call, const MachineFacts& facts);
Offer prepare_float8_weight_gradient(const Call& call, const MachineFacts& facts);

template <auto bytes, auto prepare>
Offer in_bytes_or(const Call& call, const MachineFacts& facts) {
  if (size_of(call.attributes.math) != 1) return prepare(call, facts);
  Offer offer = bytes(call, facts);
  if (std::holds_alternative<Prepared>(offer)) return offer;
  Offer widened = prepare(call, facts);
  if (auto* prepared = std::get_if<Prepared>(&widened))
    prepared->description += "; operands of 8 bits widened: " + std::get<Declined>(offer).why;
  return widened;
}

/// The same by cuDNN, without stored scores (fused_attention.h).
Offer prepare_fused_attention(const Call& call, const MachineFacts& facts);
Offer prepare_fused_attention_gradient(const Call& call, const MachineFacts& facts);

}  // namespace assay::ASSAY_CUDA_NAMESPACE
