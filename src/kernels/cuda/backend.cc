#include "kernels/cuda/gpu.h"
#include "kernels/cuda/products.h"

namespace assay {

const Backend& cuda_backend() {
  static const Backend backend = {"cuda", "cuda", cuda::table(), nullptr, cuda::gpu, cuda::describe};
  return backend;
}

}  // namespace assay
