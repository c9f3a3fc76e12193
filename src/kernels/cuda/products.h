#pragma once

#include "kernels/cuda/cuda.h"

/// Matrix products through cuBLASLt, and attention through cuDNN.
namespace assay::ASSAY_CUDA_NAMESPACE {

Offer prepare_library_linear(const Call& call, const MachineFacts& facts);
Offer prepare_library_quantized_linear(const Call& call, const MachineFacts& facts);
Offer prepare_library_linear_input_gradient(const Call& call, const MachineFacts& facts);
Offer prepare_library_linear_weight_gradient(const Call& call, const MachineFacts& facts);
Offer prepare_library_attention_scores(const Call& call, const MachineFacts& facts);
Offer prepare_library_attention_context(const Call& call, const MachineFacts& facts);
Offer prepare_library_attention_context_transposed(const Call& call, const MachineFacts& facts);
/// Scores and probabilities are stored in the workspace, in the operands' dtype.
Offer prepare_library_attention(const Call& call, const MachineFacts& facts);
Offer prepare_library_attention_gradient(const Call& call, const MachineFacts& facts);

/// The same by cuDNN, without stored scores (fused_attention.h).
Offer prepare_fused_attention(const Call& call, const MachineFacts& facts);
Offer prepare_fused_attention_gradient(const Call& call, const MachineFacts& facts);

}  // namespace assay::ASSAY_CUDA_NAMESPACE
