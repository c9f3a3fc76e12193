#pragma once

#include <cstdint>
#include <filesystem>

#include "model/model.h"
#include "training/trainer.h"

namespace assay {

// The optimizer's state as torch.optim.AdamW (or SGD) has it, in a safetensors file:
//
//   <parameter>.exp_avg, <parameter>.exp_avg_sq   moments, in the parameter's shape and orientation
//   <parameter>.step                              f32 (): updates that were done
//   <parameter>.momentum_buffer                   SGD with momentum, in the place of those
//
// <parameter> is its name in named_parameters() of transformers' class, which is that in model.safetensors; of an
// adapter that in adapter_model.safetensors. examples/torch_optimizer.py reads and writes such files from PyTorch.

/// Throws an error naming the file that could not be written, and a user error where the optimizer has no state.
void export_optimizer(const std::filesystem::path& file, const Model& model, const Trainer& trainer);

/// Takes the moments and the number of updates from the file, and returns that number. Throws a user error naming the
/// file and the tensor where one is missing, unknown, of another shape, not finite, or where steps differ.
std::int64_t import_optimizer(const std::filesystem::path& file, const Model& model, Trainer& trainer);

}  // namespace assay
