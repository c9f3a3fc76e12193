#include <cupti.h>

#include <cstdlib>
#include <mutex>

#include "base/error.h"
#include "kernels/cuda/host/toolkit/gpu.h"
#include "kernels/cuda/host/toolkit/toolkit_library.h"
#include "kernels/kernel_recording.h"

// Kernels and the steps that launched them, by CUPTI's activity records. What the program makes of them is in
// studies/profile/gpu_kernels.cc; here is only how they are asked for.
namespace assay {
namespace cuda {
namespace {

constexpr const char* cupti_name = "libcupti.so.13";
constexpr CUpti_ExternalCorrelationKind mark_kind = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0;

/// Marks are told of API calls, so those are recorded too: launches go through the runtime's and the driver's.
constexpr CUpti_ActivityKind kinds[] = {CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, CUPTI_ACTIVITY_KIND_RUNTIME,
                                        CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL};

/// The functions of CUPTI that are used.
struct Cupti {
  decltype(&::cuptiActivityRegisterCallbacks) register_callbacks = nullptr;
  decltype(&::cuptiActivityEnable) enable = nullptr;
  decltype(&::cuptiActivityDisable) disable = nullptr;
  decltype(&::cuptiActivityFlushAll) flush_all = nullptr;
  decltype(&::cuptiActivityGetNextRecord) next_record = nullptr;
  decltype(&::cuptiActivityGetNumDroppedRecords) dropped_records = nullptr;
  decltype(&::cuptiActivityPushExternalCorrelationId) push_mark = nullptr;
  decltype(&::cuptiActivityPopExternalCorrelationId) pop_mark = nullptr;
  decltype(&::cuptiGetResultString) result_string = nullptr;
};

/// Why it cannot be used; empty where it can.
std::string load_cupti(Cupti& cupti) {
  void* library = open_toolkit_library(cupti_name, {"../extras/CUPTI/lib64", "../../cuda_cupti/lib"});
  if (library == nullptr) return fmt::format("{} was not found; set ASSAY_CUDA_LIBRARIES to its folder", cupti_name);
  const bool complete = find_function(library, "cuptiActivityRegisterCallbacks", cupti.register_callbacks) &&
                        find_function(library, "cuptiActivityEnable", cupti.enable) &&
                        find_function(library, "cuptiActivityDisable", cupti.disable) &&
                        find_function(library, "cuptiActivityFlushAll", cupti.flush_all) &&
                        find_function(library, "cuptiActivityGetNextRecord", cupti.next_record) &&
                        find_function(library, "cuptiActivityGetNumDroppedRecords", cupti.dropped_records) &&
                        find_function(library, "cuptiActivityPushExternalCorrelationId", cupti.push_mark) &&
                        find_function(library, "cuptiActivityPopExternalCorrelationId", cupti.pop_mark) &&
                        find_function(library, "cuptiGetResultString", cupti.result_string);
  return complete ? "" : fmt::format("{} lacks a function that is needed", cupti_name);
}

std::string status_words(const Cupti& cupti, CUptiResult result) {
  const char* text = nullptr;
  const bool known = cupti.result_string(result, &text) == CUPTI_SUCCESS && text != nullptr;
  return known ? text : fmt::format("status {}", static_cast<int>(result));
}

/// Where CUPTI's callbacks leave what they are handed, from a thread of its own: they are given no address to write to.
struct Inbox {
  const Cupti* cupti = nullptr;
  std::mutex mutex;
  RecordedKernels records;
};
/// Never destroyed: CUPTI's thread may outlive this process's statics.
Inbox& inbox() {
  static Inbox* const the_inbox = new Inbox;
  return *the_inbox;
}

void keep(const CUpti_Activity& record, RecordedKernels& records) {
  if (record.kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL || record.kind == CUPTI_ACTIVITY_KIND_KERNEL) {
    const auto& kernel = reinterpret_cast<const CUpti_ActivityKernel10&>(record);
    if (kernel.end == 0) {  // A flush may hand out records that are not complete.
      ++records.dropped;
      return;
    }
    records.kernels.push_back(
        {kernel.correlationId, kernel.name == nullptr ? "" : kernel.name, kernel.start, kernel.end});
  } else if (record.kind == CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION) {
    const auto& mark = reinterpret_cast<const CUpti_ActivityExternalCorrelation&>(record);
    if (mark.externalKind == mark_kind) records.marks.push_back({mark.correlationId, mark.externalId});
  }
}

void CUPTIAPI give_buffer(std::uint8_t** buffer, std::size_t* bytes, std::size_t* most_records) {
  constexpr std::size_t buffer_bytes = std::size_t{1} << 20;
  *buffer = static_cast<std::uint8_t*>(std::malloc(buffer_bytes));  // CUPTI wants multiples of 8 as addresses
  *bytes = *buffer == nullptr ? 0 : buffer_bytes;
  *most_records = 0;  // as many as fit
}

void CUPTIAPI take_buffer(CUcontext context, std::uint32_t stream, std::uint8_t* buffer, std::size_t,
                          std::size_t valid_bytes) {
  Inbox& to = inbox();
  const std::lock_guard<std::mutex> lock(to.mutex);
  CUpti_Activity* record = nullptr;
  while (valid_bytes > 0 && to.cupti->next_record(buffer, valid_bytes, &record) == CUPTI_SUCCESS)
    keep(*record, to.records);
  std::size_t dropped = 0;
  if (to.cupti->dropped_records(context, stream, &dropped) == CUPTI_SUCCESS) to.records.dropped += dropped;
  std::free(buffer);
}

class CuptiRecording final : public KernelRecording {
 public:
  explicit CuptiRecording(const Cupti& cupti) : cupti_(cupti) {}
  CuptiRecording(const CuptiRecording&) = delete;
  CuptiRecording& operator=(const CuptiRecording&) = delete;
  ~CuptiRecording() override {
    for (const CUpti_ActivityKind kind : kinds) cupti_.disable(kind);
    cupti_.flush_all(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  }

  void begin(std::uint64_t mark) override { check(cupti_.push_mark(mark_kind, mark), "marking a step"); }
  void end() override { check(cupti_.pop_mark(mark_kind, nullptr), "ending a step"); }

  RecordedKernels take() override {
    check(cupti_.flush_all(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED), "collecting records");
    Inbox& from = inbox();
    const std::lock_guard<std::mutex> lock(from.mutex);
    return std::exchange(from.records, {});
  }

 private:
  void check(CUptiResult result, const char* what) const {
    if (result != CUPTI_SUCCESS)
      throw Error(ExitCode::defect, fmt::format("cupti: {}: {}", what, status_words(cupti_, result)));
  }

  const Cupti& cupti_;
};

/// Why nothing is recorded; empty where everything is.
std::string start_cupti(const Cupti& cupti) {
  inbox().cupti = &cupti;
  CUptiResult result = cupti.register_callbacks(give_buffer, take_buffer);
  for (const CUpti_ActivityKind kind : kinds) {
    if (result == CUPTI_SUCCESS) result = cupti.enable(kind);
  }
  if (result == CUPTI_SUCCESS) return "";
  for (const CUpti_ActivityKind kind : kinds) cupti.disable(kind);
  return fmt::format("CUPTI refuses: {}", status_words(cupti, result));
}

}  // namespace
}  // namespace cuda

std::variant<std::unique_ptr<KernelRecording>, std::string> record_kernels() {
  static cuda::Cupti cupti;  // CUPTI's threads may ask for it as long as the process lives.
  static const std::string unusable = cuda::load_cupti(cupti);
  if (!unusable.empty()) return unusable;
  cuda::gpu();
  if (std::string why = cuda::start_cupti(cupti); !why.empty()) return why;
  return std::make_unique<cuda::CuptiRecording>(cupti);
}

}  // namespace assay
