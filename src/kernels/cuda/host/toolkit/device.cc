#include <nvtx3/nvToolsExt.h>

#include <algorithm>

#include "base/error.h"
#include "base/units.h"
#include "kernels/cuda/host/toolkit/gpu.h"

namespace assay::cuda {
namespace {

/// What CUDA 13 compiles for at least.
constexpr ComputeCapability oldest = {7, 5};
/// Of the free memory, what libraries take for their code when they first run, and graphs.
constexpr std::int64_t reserve_bytes = std::int64_t{512} << 20;

/// The first GPU. Throws Error(lacking) where there is none that this build has code for.
cudaDeviceProp find_gpu() {
  int count = 0;
  int driver = 0;
  cudaDriverGetVersion(&driver);
  if (driver == 0) fail_lacking("cuda: no driver; run with --device cpu");
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess || count == 0)
    fail_lacking("cuda: no GPU ({}); run with --device cpu", cudaGetErrorString(status));
  cudaDeviceProp properties = {};
  check(cudaGetDeviceProperties(&properties, 0), "reading the GPU's properties");
  const ComputeCapability capability = {properties.major, properties.minor};
  if (capability < oldest) {
    fail_lacking("cuda: {} has compute capability {}.{}, CUDA 13 builds from {}.{} on; run with --device cpu",
                 properties.name, capability.major, capability.minor, oldest.major, oldest.minor);
  }
  return properties;
}

const cudaDeviceProp& properties() {
  static const cudaDeviceProp found = find_gpu();
  return found;
}

/// Throws Error(lacking) where this build holds no code that the GPU or its driver takes.
void check_code() {
  const cudaError_t status = status_of_code();
  if (status == cudaErrorNoKernelImageForDevice || status == cudaErrorInvalidDeviceFunction ||
      status == cudaErrorUnsupportedPtxVersion) {
    fail_lacking(
        "cuda: this build holds no code for {} (compute capability {}.{}): {}; build with "
        "-DASSAY_CUDA_ARCHITECTURES={}{}, or run with --device cpu",
        properties().name, properties().major, properties().minor, cudaGetErrorString(status), properties().major,
        properties().minor);
  }
  check(status, "looking for the code of a kernel");
}

class Gpu final : public Device {
 public:
  Gpu() {
    properties();
    check(cudaSetDevice(0), "choosing the GPU");
    check_code();
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "making a stream");
  }
  cudaStream_t stream() const { return stream_; }

  bool is_host() const override { return false; }

  std::byte* allocate(std::size_t bytes) const override {
    void* memory = nullptr;
    const cudaError_t status = cudaMalloc(&memory, bytes == 0 ? 1 : bytes);
    if (status == cudaErrorMemoryAllocation) {
      cudaGetLastError();  // It is not for the next call to report.
      throw OutOfMemory(fmt::format("memory: {} on the GPU were asked for, {} are free",
                                    format_bytes(static_cast<double>(bytes)), format_bytes(free_bytes())),
                        static_cast<double>(bytes), free_bytes());
    }
    check(status, "allocating memory");
    return static_cast<std::byte*>(memory);
  }

  /// Owners call it while they are destroyed: what goes wrong is the next call's to report.
  void release(std::byte* memory) const override {
    cudaStreamSynchronize(stream_);
    cudaFree(memory);
  }
  void upload(std::byte* to, const std::byte* from, std::size_t bytes) const override {
    copy(to, from, bytes, cudaMemcpyHostToDevice);
  }
  void download(std::byte* to, const std::byte* from, std::size_t bytes) const override {
    copy(to, from, bytes, cudaMemcpyDeviceToHost);
  }
  void clear(std::byte* memory, std::size_t bytes) const override {
    if (bytes == 0) return;
    check(cudaMemsetAsync(memory, 0, bytes, stream_), "clearing memory");
    wait();
  }
  void wait() const override { check(cudaStreamSynchronize(stream_), "waiting for the GPU"); }
  std::unique_ptr<Recording> record(const std::function<void()>& work) const override {
    return record_graph(stream_, work);
  }
  std::optional<DeviceTime> time(const std::function<void()>& work) const override {
    return time_held_back(stream_, work);
  }
  void begin_range(const char* name) const override { nvtxRangePushA(name); }
  void end_range() const override { nvtxRangePop(); }

 private:
  static double free_bytes() {
    std::size_t free = 0;
    std::size_t total = 0;
    return cudaMemGetInfo(&free, &total) == cudaSuccess ? static_cast<double>(free) : 0;
  }

  void copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind direction) const {
    if (bytes == 0) return;
    check(cudaMemcpyAsync(to, from, bytes, direction, stream_), "copying memory");
    wait();
  }

  cudaStream_t stream_ = nullptr;
};

/// Never destroyed: the driver may be gone before this process's statics are.
const Gpu& the_gpu() {
  static const Gpu* const gpu = new Gpu;
  return *gpu;
}

int attribute(cudaDeviceAttr which) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, which, 0), "reading an attribute of the GPU");
  return value;
}

}  // namespace

const Device& gpu() {
  return the_gpu();
}

cudaStream_t stream() {
  return the_gpu().stream();
}

void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // It is not for the next call to report.
  if (status == cudaErrorMemoryAllocation)
    throw OutOfMemory(fmt::format("memory: the GPU refuses what it takes for {}", what), 0, 0);
  throw Error(ExitCode::defect, fmt::format("cuda: {}: {}", what, cudaGetErrorString(status)));
}

void describe(MachineFacts& facts) {
  the_gpu();
  const cudaDeviceProp& found = properties();
  GpuFacts gpu;
  gpu.name = found.name;
  gpu.capability = {found.major, found.minor};
  gpu.multiprocessors = found.multiProcessorCount;
  gpu.memory_bytes = static_cast<std::int64_t>(found.totalGlobalMem);
  gpu.l2_bytes = found.l2CacheSize;
  gpu.clock_mhz = attribute(cudaDevAttrClockRate) / 1000;
  gpu.memory_clock_mhz = attribute(cudaDevAttrMemoryClockRate) / 1000;
  gpu.ecc = found.ECCEnabled != 0;
  check(cudaDriverGetVersion(&gpu.driver_api), "reading the driver's version");
  std::size_t free = 0;
  std::size_t total = 0;
  check(cudaMemGetInfo(&free, &total), "reading the free memory");
  facts.memory_bytes = gpu.memory_bytes;
  facts.available_bytes = std::max<std::int64_t>(static_cast<std::int64_t>(free) - reserve_bytes, 0);
  facts.peaks.clear();
  facts.caches = {{.level = 2, .bytes = gpu.l2_bytes, .shared_by_cores = gpu.multiprocessors, .instances = 1}};
  facts.gpu = gpu;
}

}  // namespace assay::cuda
