#pragma once

#include <cuda_runtime_api.h>

#include "hardware/facts.h"
#include "tensor/device.h"

/// The GPU that this process uses: the first one that CUDA shows (CUDA_VISIBLE_DEVICES chooses).
namespace assay::cuda {

/// Its memory. Throws Error(lacking) where there is no driver, no GPU, or one that is too old.
const Device& gpu();
/// Whether this build's kernels can run on it: success, or why not (device_code.cc).
cudaError_t status_of_code();
/// The stream that everything of this process runs on, in order.
cudaStream_t stream();
/// Throws where the device reports an error: OutOfMemory where it refuses memory, else a defect that names the call.
void check(cudaError_t status, const char* what);
/// Writes what the GPU is over the host's facts: facts.gpu, its memory as what is available, its L2 as the cache.
void describe(MachineFacts& facts);

}  // namespace assay::cuda
