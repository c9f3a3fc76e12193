#include "tensor/device.h"

#include <cstdlib>
#include <cstring>

#include "tensor/tensor.h"

namespace assay {
namespace {

class HostDevice final : public Device {
 public:
  bool is_host() const override { return true; }
  std::byte* allocate(std::size_t bytes) const override { return allocate_aligned(bytes).release(); }
  void release(std::byte* memory) const override { FreeMemory{}(memory); }
  void upload(std::byte* to, const std::byte* from, std::size_t bytes) const override { copy(to, from, bytes); }
  void download(std::byte* to, const std::byte* from, std::size_t bytes) const override { copy(to, from, bytes); }
  void clear(std::byte* memory, std::size_t bytes) const override {
    if (bytes > 0) std::memset(memory, 0, bytes);
  }
  void wait() const override {}

 private:
  static void copy(std::byte* to, const std::byte* from, std::size_t bytes) {
    if (bytes > 0) std::memcpy(to, from, bytes);
  }
};

}  // namespace

std::unique_ptr<Recording> Device::record(const std::function<void()>&) const {
  return nullptr;
}
std::optional<DeviceTime> Device::time(const std::function<void()>&) const {
  return std::nullopt;
}
void Device::begin_range(const char*) const {}
void Device::end_range() const {}

const Device& host_device() {
  static const HostDevice device;
  return device;
}

DeviceBytes allocate_on(const Device& device, std::size_t bytes) {
  return DeviceBytes(device.allocate(bytes), ReleaseOnDevice{&device});
}

DeviceBytes upload_to(const Device& device, const std::byte* from, std::size_t bytes) {
  DeviceBytes memory = allocate_on(device, bytes);
  device.upload(memory.get(), from, bytes);
  return memory;
}

}  // namespace assay
