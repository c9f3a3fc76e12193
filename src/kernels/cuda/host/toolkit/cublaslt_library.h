#pragma once

#include <cublasLt.h>

#include <string>

namespace assay::cuda {

/// The functions of cuBLASLt that are used, from the library that was found when it was first asked for.
struct CublasLt {
  decltype(&::cublasLtCreate) create = nullptr;
  decltype(&::cublasLtMatmul) matmul = nullptr;
  decltype(&::cublasLtMatmulDescCreate) desc_create = nullptr;
  decltype(&::cublasLtMatmulDescDestroy) desc_destroy = nullptr;
  decltype(&::cublasLtMatmulDescSetAttribute) desc_set = nullptr;
  decltype(&::cublasLtMatrixLayoutCreate) layout_create = nullptr;
  decltype(&::cublasLtMatrixLayoutDestroy) layout_destroy = nullptr;
  decltype(&::cublasLtMatrixLayoutSetAttribute) layout_set = nullptr;
  decltype(&::cublasLtMatmulPreferenceCreate) preference_create = nullptr;
  decltype(&::cublasLtMatmulPreferenceDestroy) preference_destroy = nullptr;
  decltype(&::cublasLtMatmulPreferenceSetAttribute) preference_set = nullptr;
  decltype(&::cublasLtMatmulAlgoGetHeuristic) heuristic = nullptr;
  decltype(&::cublasLtMatmulAlgoCheck) algo_check = nullptr;
  decltype(&::cublasLtMatmulAlgoConfigGetAttribute) config_get = nullptr;
  decltype(&::cublasLtMatmulAlgoCapGetAttribute) cap_get = nullptr;
  decltype(&::cublasLtGetVersion) version = nullptr;
  cublasLtHandle_t handle = nullptr;
};

/// Throws Error(lacking) where the library is nowhere (libraries.h) or does not start.
const CublasLt& cublaslt();
/// Throws a defect that names the call.
void check(cublasStatus_t status, const char* what);

}  // namespace assay::cuda
