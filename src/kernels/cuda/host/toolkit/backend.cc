#include "base/error.h"
#include "kernels/cuda/host/products.h"
#include "kernels/cuda/host/toolkit/gpu.h"
#include "kernels/gpu_bus_id.h"

namespace assay {

const Backend& cuda_backend() {
  static const Backend backend = {"cuda", "cuda", cuda::table(), nullptr, cuda::gpu, cuda::describe};
  return backend;
}

std::string gpu_bus_id() {
  try {
    cuda::gpu();
  } catch (const Error&) {
    return "";
  }
  char text[32] = "";
  cuda::check(cudaDeviceGetPCIBusId(text, sizeof(text), 0), "reading the GPU's bus id");
  return text;
}

}  // namespace assay
