#pragma once

#include "kernels/cuda/host/toolkit/gpu.h"

namespace assay::cuda {

/// A moment of the stream, by the GPU's clock.
class Event {
 public:
  Event() { check(cudaEventCreate(&event_), "making an event"); }
  ~Event() { cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  void record(cudaStream_t stream) const { check(cudaEventRecord(event_, stream), "recording an event"); }
  /// Whether the stream has come here.
  bool is_past() const {
    const cudaError_t status = cudaEventQuery(event_);
    if (status == cudaErrorNotReady) {
      cudaGetLastError();  // It is not for the next call to report.
      return false;
    }
    check(status, "asking for an event");
    return true;
  }
  /// Waits until the stream has come here.
  double ms_since(const Event& earlier) const {
    check(cudaEventSynchronize(event_), "waiting for an event");
    float ms = 0;
    check(cudaEventElapsedTime(&ms, earlier.event_, event_), "reading events");
    return ms;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace assay::cuda
