#pragma once

#include <string>

#include "hardware/facts.h"
#include "kernels/kernel.h"

namespace assay {

/// How large the products are that a device's rates are measured with.
struct DeviceProbe {
  std::int64_t side = 4096;        ///< Of square matrices.
  std::int64_t bytes = 1LL << 28;  ///< Of each tensor that bandwidth is measured with.
  double seconds_each = 0.1;       ///< For each kernel.
};

/// The facts of what the backend's kernels run on: the host's own, or a device's memory, bandwidth and matmul rates in
/// place of the host's. Rates of products without matrix instructions are not measured.
MachineFacts facts_on(const Backend& backend, MachineFacts host, const DeviceProbe& probe = {});

/// The same by the device's name ("cuda"), measured once in a process. The host's facts where there is no such device,
/// which whoever asks for its backend is told. Throws OutOfMemory where the device has too little left to measure in.
MachineFacts facts_on(const std::string& device, MachineFacts host);

}  // namespace assay
