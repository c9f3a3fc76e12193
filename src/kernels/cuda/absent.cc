#include "kernels/gpu_bus_id.h"
#include "kernels/kernel.h"

namespace assay {

const Backend& cuda_backend() {
  static const Backend backend{"cuda", "cuda", {}, "this build has no CUDA backend"};
  return backend;
}

std::string gpu_bus_id() {
  return "";
}

}  // namespace assay
