#pragma once

#include <string>

#include "model/architecture.h"
#include "training/programs.h"

namespace assay {

/// Why a step keeps and computes the same with options.recompute as without: "--recompute attention changes nothing
/// ...". Empty where it computes something again, and where nothing was asked.
std::string recomputation_in_vain(const ModelConfig& config, const TrainingOptions& options);

}  // namespace assay
