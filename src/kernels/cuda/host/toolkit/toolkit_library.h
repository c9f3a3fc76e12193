#pragma once

#include "kernels/cuda/host/libraries.h"

namespace assay::cuda {

/// open_library in the folders that ASSAY_CUDA_LIBRARIES lists, the usual ones, and those of the toolkit that the
/// program was built with.
void* open_toolkit_library(const char* name, const std::vector<std::string>& beside = {});

}  // namespace assay::cuda
