#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "base/device_time.h"

namespace assay {

/// Work that was recorded once and is queued as a whole, as often as wanted.
class Recording {
 public:
  virtual ~Recording() = default;
  virtual void enqueue() const = 0;
};

/// Where tensors lie that kernels work on: the host's memory, or that of an accelerator, which only its own work and
/// these functions may touch. An accelerator's work is queued and runs in order; `wait` waits until it is idle.
class Device {
 public:
  virtual ~Device() = default;
  /// Whether the host may read and write the memory itself.
  virtual bool is_host() const = 0;
  /// At least 64-byte aligned, not initialised. Throws OutOfMemory where the device refuses.
  virtual std::byte* allocate(std::size_t bytes) const = 0;
  virtual void release(std::byte* memory) const = 0;
  /// Host to device and back; both have happened when they return.
  virtual void upload(std::byte* to, const std::byte* from, std::size_t bytes) const = 0;
  virtual void download(std::byte* to, const std::byte* from, std::size_t bytes) const = 0;
  virtual void clear(std::byte* memory, std::size_t bytes) const = 0;
  virtual void wait() const = 0;

  /// Notes what `work` queues; nothing of it runs. The memory that it names must outlive the recording. Null where work
  /// runs as it is called, as on the host, and where the device refuses the memory for it. Throws where something in
  /// `work` cannot be noted.
  virtual std::unique_ptr<Recording> record(const std::function<void()>& work) const;
  /// Runs what `work` queues, waits and says what it took. Absent where work runs as it is called.
  virtual std::optional<DeviceTime> time(const std::function<void()>& work) const;
  /// Names what is queued from here on for tools that watch the device; ranges nest. By default nobody watches.
  virtual void begin_range(const char* name) const;
  virtual void end_range() const;
};

/// The host's own memory; waiting for it takes no time.
const Device& host_device();

struct ReleaseOnDevice {
  const Device* device = nullptr;
  void operator()(std::byte* memory) const { device->release(memory); }
};
/// Memory of a device that is given back with its owner. The device outlives it.
using DeviceBytes = std::unique_ptr<std::byte[], ReleaseOnDevice>;
DeviceBytes allocate_on(const Device& device, std::size_t bytes);
/// The same, filled with a copy of the host's bytes.
DeviceBytes upload_to(const Device& device, const std::byte* from, std::size_t bytes);

}  // namespace assay
