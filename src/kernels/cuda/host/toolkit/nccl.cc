#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "base/error.h"
#include "kernels/cuda/host/toolkit/event.h"
#include "kernels/cuda/host/toolkit/gpu.h"
#include "kernels/cuda/host/toolkit/toolkit_library.h"
#include "kernels/join_device_sums.h"

// NCCL 2, which is opened where ranks train on GPUs. Its header is no part of the toolkit; these few of its
// declarations have been the same since 2.10.
namespace assay::cuda {
namespace {

constexpr const char* nccl_name = "libnccl.so.2";

using Communicator = struct ncclComm*;  // NOLINT(readability-identifier-naming): the library's.
/// ncclUniqueId, which is handed over by value.
struct UniqueId {
  char bytes[sizeof(MeetingId)];
};
constexpr int nccl_success = 0;
constexpr int nccl_in_progress = 7;
constexpr int nccl_sum = 0;
constexpr int nccl_f16 = 6;
constexpr int nccl_f32 = 7;
constexpr int nccl_bf16 = 9;

struct Nccl {
  std::string fault;  ///< Why it cannot be used; "": it can.
  int version = 0;
  int (*get_version)(int* version) = nullptr;
  int (*get_unique_id)(UniqueId* id) = nullptr;
  int (*init_rank)(Communicator* made, int size, UniqueId id, int rank) = nullptr;
  int (*destroy)(Communicator all) = nullptr;
  int (*abort)(Communicator all) = nullptr;
  int (*get_async_error)(Communicator all, int* error) = nullptr;
  int (*group_start)() = nullptr;
  int (*group_end)() = nullptr;
  int (*all_reduce)(const void* from, void* to, std::size_t count, int dtype, int operation, Communicator all,
                    cudaStream_t stream) = nullptr;
  int (*reduce)(const void* from, void* to, std::size_t count, int dtype, int operation, int root, Communicator all,
                cudaStream_t stream) = nullptr;
  const char* (*error_string)(int status) = nullptr;
};

/// The name of the first function that the library lacks; null: it has all.
const char* find_nccl_functions(void* library, Nccl& nccl) {
  if (!find_function(library, "ncclGetVersion", nccl.get_version)) return "ncclGetVersion";
  if (!find_function(library, "ncclGetUniqueId", nccl.get_unique_id)) return "ncclGetUniqueId";
  if (!find_function(library, "ncclCommInitRank", nccl.init_rank)) return "ncclCommInitRank";
  if (!find_function(library, "ncclCommDestroy", nccl.destroy)) return "ncclCommDestroy";
  if (!find_function(library, "ncclCommAbort", nccl.abort)) return "ncclCommAbort";
  if (!find_function(library, "ncclCommGetAsyncError", nccl.get_async_error)) return "ncclCommGetAsyncError";
  if (!find_function(library, "ncclGroupStart", nccl.group_start)) return "ncclGroupStart";
  if (!find_function(library, "ncclGroupEnd", nccl.group_end)) return "ncclGroupEnd";
  if (!find_function(library, "ncclAllReduce", nccl.all_reduce)) return "ncclAllReduce";
  if (!find_function(library, "ncclReduce", nccl.reduce)) return "ncclReduce";
  if (!find_function(library, "ncclGetErrorString", nccl.error_string)) return "ncclGetErrorString";
  return nullptr;
}

Nccl open_nccl() {
  Nccl nccl;
  void* const opened = open_toolkit_library(nccl_name);
  if (opened == nullptr) {
    nccl.fault = fmt::format("{} was not found", nccl_name);
  } else if (const char* missing = find_nccl_functions(opened, nccl)) {
    nccl.fault = fmt::format("{} has no {}", nccl_name, missing);
  } else if (nccl.get_version(&nccl.version) != nccl_success) {
    nccl.fault = fmt::format("{} does not say its version", nccl_name);
  }
  return nccl;
}

const Nccl& nccl() {
  static const Nccl library = open_nccl();
  return library;
}

/// Of calls that block, which is what communicators do unless a user asks otherwise.
void require_nccl(int status, const char* what) {
  if (status != nccl_success) fail_lacking("NCCL: {}: {}", what, nccl().error_string(status));
}

int nccl_dtype(DType dtype) {
  if (dtype == DType::f32) return nccl_f32;
  ASSAY_ASSERT(dtype == DType::bf16 || dtype == DType::f16);
  return dtype == DType::bf16 ? nccl_bf16 : nccl_f16;
}

class NcclSums final : public DeviceSums {
 public:
  NcclSums(const MeetingId& id, int rank, int size) {
    gpu();  // Its context is this thread's from here on.
    UniqueId unique{};
    std::memcpy(unique.bytes, id.data(), id.size());
    require_nccl(nccl().init_rank(&all_, size, unique, rank), "ranks could not meet");
  }
  /// What is under way may wait for a rank that is gone: it is given up and not waited for.
  ~NcclSums() override { under_way_ ? nccl().abort(all_) : nccl().destroy(all_); }

  /// 2.28.3 says 22803.
  std::string library() const override {
    const int version = nccl().version;
    return fmt::format("NCCL {}.{}.{}", version / 10000, version / 100 % 100, version % 100);
  }

  void begin(std::span<const DeviceValues> values) override {
    under_way_ = true;
    require_nccl(nccl().group_start(), "beginning a sum");
    int status = nccl_success;
    for (const DeviceValues& one : values) status = status == nccl_success ? enqueue(one) : status;
    const int ended = nccl().group_end();  // In any case: what is begun would gather all later calls.
    require_nccl(status, "beginning a sum");
    require_nccl(ended, "beginning a sum");
    end_.record(stream());
  }

  bool test() override {
    int error = nccl_success;
    require_nccl(nccl().get_async_error(all_, &error), "looking for errors");
    if (error == nccl_in_progress) return false;
    require_nccl(error, "summing over ranks");
    under_way_ = !end_.is_past();
    return !under_way_;
  }

 private:
  int enqueue(const DeviceValues& one) {
    const auto count = static_cast<std::size_t>(one.count);
    const int dtype = nccl_dtype(one.dtype);
    if (one.owner < 0) return nccl().all_reduce(one.memory, one.memory, count, dtype, nccl_sum, all_, stream());
    return nccl().reduce(one.memory, one.memory, count, dtype, nccl_sum, one.owner, all_, stream());
  }

  Communicator all_ = nullptr;
  bool under_way_ = false;
  Event end_;
};

}  // namespace
}  // namespace assay::cuda

namespace assay {

std::string device_sums_fault() {
  try {
    cuda::gpu();
  } catch (const Error& error) {
    return error.what();
  }
  return cuda::nccl().fault;
}

MeetingId make_meeting_id() {
  cuda::UniqueId unique{};
  cuda::require_nccl(cuda::nccl().get_unique_id(&unique), "making an id");
  MeetingId id{};
  std::memcpy(id.data(), unique.bytes, id.size());
  return id;
}

std::unique_ptr<DeviceSums> join_device_sums(const MeetingId& id, int rank, int size) {
  return std::make_unique<cuda::NcclSums>(id, rank, size);
}

}  // namespace assay
