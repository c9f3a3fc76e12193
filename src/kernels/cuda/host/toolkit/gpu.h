#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <memory>

#include "hardware/facts.h"
#include "tensor/device.h"

/// The GPU that this process uses: the first one that CUDA shows (CUDA_VISIBLE_DEVICES chooses).
namespace assay::cuda {

/// Its memory. Throws Error(lacking) where there is no driver, no GPU, or one that is too old.
const Device& gpu();
/// Whether this build's kernels can run on it: success, or why not (device_code.cc).
cudaError_t status_of_code();
/// Queues a kernel that ends when the host has written to `released` (of cudaHostAlloc), or after so long, and then
/// says so in `expired` (device_code.cc).
void hold_stream(const volatile int* released, volatile int* expired, double most_s);
/// The stream that everything of this process runs on, in order.
cudaStream_t stream();
/// Device::record and Device::time, on that stream (device_work.cc): a CUDA graph; events behind hold_stream.
std::unique_ptr<Recording> record_graph(cudaStream_t stream, const std::function<void()>& work);
DeviceTime time_held_back(cudaStream_t stream, const std::function<void()>& work);
/// Throws where the device reports an error: OutOfMemory where it refuses memory, else a defect that names the call.
void check(cudaError_t status, const char* what);
/// Writes what the GPU is over the host's facts: facts.gpu, its memory as what is available, its L2 as the cache.
void describe(MachineFacts& facts);

}  // namespace assay::cuda
