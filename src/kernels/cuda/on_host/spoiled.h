#pragma once

#include <cstddef>

#include "kernels/cuda/launch.h"

namespace assay::ASSAY_CUDA_NAMESPACE {

/// Of a workspace, what the libraries' stand-ins write over, as the libraries may.
inline constexpr std::size_t spoiled_bytes = 256;

}  // namespace assay::ASSAY_CUDA_NAMESPACE
