#include "kernels/cuda/host/toolkit/cublaslt_library.h"

#include "base/error.h"
#include "kernels/cuda/host/toolkit/toolkit_library.h"

namespace assay::cuda {
namespace {

constexpr const char* cublaslt_name = "libcublasLt.so.13";

void* open_library() {
  if (void* library = open_toolkit_library(cublaslt_name)) return library;
  fail_lacking("cuda: {} was not found; set ASSAY_CUDA_LIBRARIES to its folder, or run with --device cpu",
               cublaslt_name);
}

template <typename Function>
void find(void* library, const char* name, Function& function) {
  if (!find_function(library, name, function)) fail_lacking("cuda: {} has no {}", cublaslt_name, name);
}

CublasLt load_cublaslt() {
  void* library = open_library();
  CublasLt lt;
  find(library, "cublasLtCreate", lt.create);
  find(library, "cublasLtMatmul", lt.matmul);
  find(library, "cublasLtMatmulDescCreate", lt.desc_create);
  find(library, "cublasLtMatmulDescDestroy", lt.desc_destroy);
  find(library, "cublasLtMatmulDescSetAttribute", lt.desc_set);
  find(library, "cublasLtMatrixLayoutCreate", lt.layout_create);
  find(library, "cublasLtMatrixLayoutDestroy", lt.layout_destroy);
  find(library, "cublasLtMatrixLayoutSetAttribute", lt.layout_set);
  find(library, "cublasLtMatmulPreferenceCreate", lt.preference_create);
  find(library, "cublasLtMatmulPreferenceDestroy", lt.preference_destroy);
  find(library, "cublasLtMatmulPreferenceSetAttribute", lt.preference_set);
  find(library, "cublasLtMatmulAlgoGetHeuristic", lt.heuristic);
  find(library, "cublasLtMatmulAlgoCheck", lt.algo_check);
  find(library, "cublasLtMatmulAlgoConfigGetAttribute", lt.config_get);
  find(library, "cublasLtMatmulAlgoCapGetAttribute", lt.cap_get);
  find(library, "cublasLtGetVersion", lt.version);
  const cublasStatus_t status = lt.create(&lt.handle);
  if (status != CUBLAS_STATUS_SUCCESS) {
    fail_lacking("cuda: {} does not start (status {}); run with --device cpu", cublaslt_name, static_cast<int>(status));
  }
  return lt;
}

}  // namespace

const CublasLt& cublaslt() {
  static const CublasLt library = load_cublaslt();
  return library;
}

void check(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  if (status == CUBLAS_STATUS_ALLOC_FAILED)
    throw OutOfMemory(fmt::format("memory: the GPU refuses what cublaslt takes for {}", what), 0, 0);
  throw Error(ExitCode::defect, fmt::format("cublaslt: {}: status {}", what, static_cast<int>(status)));
}

}  // namespace assay::cuda
