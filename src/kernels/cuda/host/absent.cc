#include "base/error.h"
#include "kernels/gpu_bus_id.h"
#include "kernels/join_device_sums.h"
#include "kernels/kernel.h"
#include "kernels/kernel_recording.h"

namespace assay {

const Backend& cuda_backend() {
  static const Backend backend{"cuda", "cuda", {}, "this build has no CUDA backend"};
  return backend;
}

std::string gpu_bus_id() {
  return "";
}

std::string device_sums_fault() {
  return cuda_backend().absent;
}

MeetingId make_meeting_id() {
  fail_lacking("{}", cuda_backend().absent);
}

std::unique_ptr<DeviceSums> join_device_sums(const MeetingId&, int, int) {
  fail_lacking("{}", cuda_backend().absent);
}

std::variant<std::unique_ptr<KernelRecording>, std::string> record_kernels() {
  return cuda_backend().absent;
}

}  // namespace assay
