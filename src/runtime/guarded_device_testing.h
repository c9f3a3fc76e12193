#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "kernels/kernel.h"
#include "tensor/device.h"

// A device whose memory the host cannot touch: pages of no access, opened only while a kernel or a copy works. Whoever
// reads a device's tensor without downloading it dies of it.
namespace assay {

class GuardedDevice final : public Device {
 public:
  bool is_host() const override { return false; }
  std::byte* allocate(std::size_t bytes) const override {
    if (refuses) throw OutOfMemory("memory: refused", static_cast<double>(bytes), 0);
    const std::size_t size = (bytes + 4096) / 4096 * 4096;
    void* memory = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) fail_lacking("memory: refused");
    blocks_[static_cast<std::byte*>(memory)] = size;
    asked_[static_cast<std::byte*>(memory)] = bytes;
    return static_cast<std::byte*>(memory);
  }
  void release(std::byte* memory) const override {
    munmap(memory, blocks_.at(memory));
    blocks_.erase(memory);
    asked_.erase(memory);
  }
  void upload(std::byte* to, const std::byte* from, std::size_t bytes) const override { copy(to, from, bytes); }
  void download(std::byte* to, const std::byte* from, std::size_t bytes) const override { copy(to, from, bytes); }
  void clear(std::byte* memory, std::size_t bytes) const override {
    open(PROT_READ | PROT_WRITE);
    std::fill_n(memory, bytes, std::byte{0});
    open(PROT_NONE);
  }
  void wait() const override { ++waits; }
  std::unique_ptr<Recording> record(const std::function<void()>& work) const override {
    if (!records) return nullptr;
    if (!recording_fault.empty()) fail_lacking("{}", recording_fault);
    auto recording = std::make_unique<Notes>();
    notes = &recording->launches;
    work();
    notes = nullptr;
    return recording;
  }
  void begin_range(const char* name) const override { ranges.emplace_back(name); }

  /// What kernels were to do while a recording was made.
  struct Notes final : Recording {
    std::vector<std::function<void()>> launches;
    void enqueue() const override {
      for (const auto& launch : launches) launch();
    }
  };

  void open(int protection) const {
    for (const auto& [memory, bytes] : blocks_) mprotect(memory, bytes, protection);
  }
  std::size_t blocks() const { return blocks_.size(); }
  std::int64_t bytes() const {
    std::int64_t total = 0;
    for (const auto& [memory, bytes] : asked_) total += static_cast<std::int64_t>(bytes);
    return total;
  }
  mutable int waits = 0;
  bool refuses = false;
  bool records = false;
  std::string recording_fault;                                  ///< Why recording fails; empty: it does not.
  mutable std::vector<std::function<void()>>* notes = nullptr;  ///< Where launches go while a recording is made.
  mutable std::vector<std::string> ranges;

 private:
  void copy(std::byte* to, const std::byte* from, std::size_t bytes) const {
    open(PROT_READ | PROT_WRITE);
    std::copy_n(from, bytes, to);
    open(PROT_NONE);
  }
  mutable std::map<std::byte*, std::size_t> blocks_;  ///< Whole pages.
  mutable std::map<std::byte*, std::size_t> asked_;
};

inline GuardedDevice& guarded() {
  static GuardedDevice device;
  return device;
}
inline const Device& guarded_memory() {
  return guarded();
}

/// The reference's kernels, which see the device's memory only while they run.
inline Offer prepare_guarded(const Call& call, const MachineFacts& facts) {
  Offer offer = prepare(reference_backend(), call, facts);
  auto* prepared = std::get_if<Prepared>(&offer);
  if (prepared == nullptr) return offer;
  prepared->kernel = make_kernel([inner = std::shared_ptr<Kernel>(std::move(prepared->kernel))](const Memory& memory) {
    const auto launch = [inner, memory] {
      guarded().open(PROT_READ | PROT_WRITE);
      inner->run(memory);
      guarded().open(PROT_NONE);
    };
    if (guarded().notes != nullptr) return guarded().notes->push_back(launch);
    launch();
  });
  return offer;
}

inline const Backend& guarded_backend() {
  static constexpr Implementation only[] = {{"guarded", prepare_guarded}};
  static const std::vector<OperationKernels> table = [] {
    std::vector<OperationKernels> rows;
    for (const Operation* operation : all_operations()) rows.push_back({operation, only});
    return rows;
  }();
  static const Backend backend = {"guarded", "guarded", table, nullptr, guarded_memory};
  return backend;
}

}  // namespace assay
