#pragma once

#include <filesystem>

#include "model/config.h"

namespace assay {

/// What sentence-transformers' files beside an encoder (modules.json, 1_Pooling/config.json) say of its sentence
/// embeddings: `pooling`, and that a masked language model is meant for them. Without such files nothing changes.
/// Throws a user error for a pooling or a module that is not built.
void read_pooling(const std::filesystem::path& folder, ModelConfig& config);

}  // namespace assay
