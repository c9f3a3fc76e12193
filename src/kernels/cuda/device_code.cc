#include "kernels/cuda/launch.h"

// Compiled by nvcc for the same targets as every kernel: what one of them answers, all would.
namespace assay::cuda {
namespace {

struct Nothing {
  ON_DEVICE void operator()(std::int64_t) const {}
};

__device__ unsigned long long nanoseconds() {
  unsigned long long now = 0;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  return now;
}

__global__ void hold(const volatile int* released, volatile int* expired, unsigned long long most_ns) {
  const unsigned long long begin = nanoseconds();
  while (*released == 0) {
    if (nanoseconds() - begin < most_ns) continue;
    *expired = 1;
    return;
  }
}

}  // namespace

cudaError_t status_of_code() {
  cudaFuncAttributes attributes = {};
  return cudaFuncGetAttributes(&attributes, run_elements<Nothing>);
}

void hold_stream(const volatile int* released, volatile int* expired, double most_s) {
  hold<<<1, 1, 0, stream()>>>(released, expired, static_cast<unsigned long long>(most_s * 1e9));
  check(cudaGetLastError(), "launching a kernel");
}

}  // namespace assay::cuda
