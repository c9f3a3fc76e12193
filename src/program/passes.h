#pragma once

#include "program/program.h"
#include "tensor/precision.h"

namespace assay {

/// Gives every value its dtype and inserts the casts and quantisations that the precision asks for. Weights keep f32 as
/// they come from the checkpoint; what is stored is the result of a constant cast or quantisation of them. The row's
/// `native_16bit` must have been settled.
///
/// - as_stored: weights in `weights`, matmuls in `operand`, every activation in `activations`; norm gains and biases are
///   rounded to `weights` and handed to kernels widened to f32.
/// - autocast_lists: PyTorch's CUDA autocast. Matmul operands are cast to `operand`, norms and softmax run in f32,
///   everything else in the widest dtype of its inputs.
/// - An override by role makes the operation's inputs and arithmetic that dtype; its output is cast back to what the
///   row says, except the head's. The embedding's tables and their sum are in that dtype, and unquantised.
Program assign_dtypes(const Program& program, const PrecisionChoice& precision);

/// Joins operations that one kernel can do, without changing what is computed beyond the rounding of values that are no
/// longer stored: linears of one input (Q, K, V; gate and up) into one, bias + activation, residual + norm, gated
/// activations, attention without its T x T matrix, casts into their producer.
Program fuse(const Program& program);

}  // namespace assay
