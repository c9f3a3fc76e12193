#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace assay {

/// A kernel that a device ran, as its library of measurements reports it. Times are of the device's own clock.
struct KernelRecord {
  std::uint32_t correlation = 0;  ///< Of the call that launched it.
  std::string name;               ///< As compiled: mangled, where it is C++.
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;
};

/// A call that was made between begin(mark) and end().
struct MarkRecord {
  std::uint32_t correlation = 0;
  std::uint64_t mark = 0;
};

struct RecordedKernels {
  std::vector<KernelRecord> kernels;  ///< In no order.
  std::vector<MarkRecord> marks;
  std::uint64_t dropped = 0;  ///< Records that the library had no room for.
};

/// Records the kernels of a device from when it is made until it is destroyed. Used from one thread.
class KernelRecording {
 public:
  virtual ~KernelRecording() = default;
  /// What is queued until end() carries the mark.
  virtual void begin(std::uint64_t mark) = 0;
  virtual void end() = 0;
  /// What was recorded since the last call; the device is idle. Throws a defect where the library reports an error.
  virtual RecordedKernels take() = 0;
};

/// A recording of the CUDA backend's kernels by CUPTI, or in words why there is none: this build has no CUDA, no
/// library was found, the driver does not permit it. One at a time.
std::variant<std::unique_ptr<KernelRecording>, std::string> record_kernels();

}  // namespace assay
