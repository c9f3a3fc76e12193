#pragma once

#include <filesystem>

#include "hardware/facts.h"
#include "model/model.h"

namespace assay {

/// Writes the model as a folder that other programs open, in the dtype in which its checkpoint holds most values: bf16
/// or f16 where that is one, else f32. Throws a user error where something stands there.
void write_merged(const Model& model, const std::filesystem::path& folder, const MachineFacts& facts);

}  // namespace assay
