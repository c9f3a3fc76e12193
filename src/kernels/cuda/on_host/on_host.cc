#include "kernels/cuda/on_host/on_host.h"

#include "kernels/cuda/cuda.h"

namespace assay {

const Backend& cuda_on_host_backend() {
  static const Backend backend = {"cuda on the host", "cpu", cuda_on_host::table()};
  return backend;
}

}  // namespace assay
