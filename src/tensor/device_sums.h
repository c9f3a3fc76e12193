#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "tensor/dtype.h"

namespace assay {

/// Values that lie on a device.
struct DeviceValues {
  std::byte* memory = nullptr;
  std::int64_t count = 0;
  DType dtype = DType::f32;
  int owner = -1;  ///< The one rank that gets the sum; -1: all do.
};

/// Sums over ranks of values that lie on devices, one device a rank, by a library of these devices. Every rank names
/// values of the same counts, dtypes (f32, bf16 or f16) and owners in the same order.
class DeviceSums {
 public:
  DeviceSums() = default;
  DeviceSums(const DeviceSums&) = delete;
  DeviceSums& operator=(const DeviceSums&) = delete;
  virtual ~DeviceSums() = default;
  /// "NCCL 2.28.3"
  virtual std::string library() const = 0;
  /// Queues the sums, in place, behind what the device was told before; additions in an order that is the library's.
  /// The memory stays until test() gave true. Where a value has another owner, what its memory then holds is of no use.
  virtual void begin(std::span<const DeviceValues> values) = 0;
  /// Whether all is done; waits for nothing. Throws Error(lacking) where the library reports an error.
  virtual bool test() = 0;
};

}  // namespace assay
