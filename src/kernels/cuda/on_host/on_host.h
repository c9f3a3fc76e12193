#pragma once

#include "kernels/kernel.h"

namespace assay {

/// The CUDA backend's own kernels, compiled for the host and run in loops: what the contract suite checks where no GPU
/// is. In tests only.
const Backend& cuda_on_host_backend();

}  // namespace assay
