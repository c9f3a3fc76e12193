#pragma once

#include <cstddef>
#include <span>

#include "hardware/facts.h"
#include "tensor/device.h"

namespace assay {

/// Memory twice as large as all caches of the device together, which is written from end to end to leave nothing else
/// in them.
class ColdCaches {
 public:
  /// Throws OutOfMemory.
  ColdCaches(const Device& device, const MachineFacts& facts);
  /// Waits until it is done.
  void empty();
  /// Its memory, where the host can read it.
  std::span<const std::byte> memory() const { return {memory_.get(), bytes_}; }

 private:
  const Device& device_;
  std::size_t bytes_;
  DeviceBytes memory_;
};

}  // namespace assay
