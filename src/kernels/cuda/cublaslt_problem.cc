#include "kernels/cuda/cublaslt_problem.h"

#include <fmt/format.h>

namespace assay::cuda {
namespace {

cudaDataType_t data_type(DType dtype) {
  switch (dtype) {
    case DType::f16:
      return CUDA_R_16F;
    case DType::bf16:
      return CUDA_R_16BF;
    case DType::s8:
      return CUDA_R_8I;
    case DType::s32:
      return CUDA_R_32I;
    case DType::e4m3:
      return CUDA_R_8F_E4M3;
    default:
      return CUDA_R_32F;
  }
}

cublasComputeType_t compute_type(DType operand) {
  if (operand == DType::s8) return CUBLAS_COMPUTE_32I;
  return operand == DType::tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
}

cublasLtEpilogue_t epilogue(const ProductShape& shape) {
  switch (shape.activation) {
    case Activation::relu:
      return shape.has_bias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU;
    case Activation::gelu_tanh:
      return shape.has_bias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU;
    default:
      return shape.has_bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
  }
}

template <typename Value>
void prefer(cublasLtMatmulPreference_t preference, cublasLtMatmulPreferenceAttributes_t attribute, const Value& value) {
  check(cublaslt().preference_set(preference, attribute, &value, sizeof(value)), "stating a preference");
}

std::string words_of_flags(std::uint64_t flags) {
  const char* unit = (flags & CUBLASLT_NUMERICAL_IMPL_FLAGS_HMMA) != 0   ? "tensor cores (HMMA)"
                     : (flags & CUBLASLT_NUMERICAL_IMPL_FLAGS_IMMA) != 0 ? "tensor cores (IMMA)"
                     : (flags & CUBLASLT_NUMERICAL_IMPL_FLAGS_FMA) != 0  ? "FMA"
                                                                         : "unknown unit";
  const char* input = (flags & CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_16F) != 0    ? "f16"
                      : (flags & CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_16BF) != 0 ? "bf16"
                      : (flags & CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_TF32) != 0 ? "tf32"
                      : (flags & CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_32F) != 0  ? "f32"
                      : (flags & CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_8I) != 0   ? "s8"
                                                                                : "unknown";
  const char* sums = (flags & CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_16F) != 0   ? "f16"
                     : (flags & CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_32F) != 0 ? "f32"
                     : (flags & CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_32I) != 0 ? "s32"
                                                                                    : "unknown";
  return fmt::format("{}, {} in, {} sums", unit, input, sums);
}

int config_of(const cublasLtMatmulAlgo_t& algorithm, cublasLtMatmulAlgoConfigAttributes_t attribute) {
  std::int32_t value = -1;
  std::size_t written = 0;
  cublaslt().config_get(&algorithm, attribute, &value, sizeof(value), &written);
  return value;
}

}  // namespace

Layout layout_of(const Matrix& matrix, std::int64_t stride, int batches) {
  cublasLtMatrixLayout_t layout = nullptr;
  check(cublaslt().layout_create(&layout, data_type(matrix.dtype), static_cast<std::uint64_t>(matrix.rows),
                                 static_cast<std::uint64_t>(matrix.columns), stride),
        "describing a matrix");
  Layout owned(layout);
  if (batches > 1) {
    const std::int32_t count = batches;
    check(cublaslt().layout_set(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof(count)), "setting batches");
    check(cublaslt().layout_set(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &matrix.batch_stride,
                                sizeof(matrix.batch_stride)),
          "setting the batches' stride");
  }
  return owned;
}

Description description_of(const ProductShape& shape) {
  cublasLtMatmulDesc_t description = nullptr;
  const cudaDataType_t scale = shape.a.dtype == DType::s8 ? CUDA_R_32I : CUDA_R_32F;
  check(cublaslt().desc_create(&description, compute_type(shape.a.dtype), scale), "describing a product");
  Description owned(description);
  const cublasOperation_t a = shape.a_turned == Turned::yes ? CUBLAS_OP_T : CUBLAS_OP_N;
  const cublasOperation_t b = shape.b_turned == Turned::yes ? CUBLAS_OP_T : CUBLAS_OP_N;
  set(description, CUBLASLT_MATMUL_DESC_TRANSA, a);
  set(description, CUBLASLT_MATMUL_DESC_TRANSB, b);
  set(description, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue(shape));
  return owned;
}

std::uint32_t alignment_of(const Matrix& matrix) {
  const auto bytes = static_cast<std::int64_t>(size_of(matrix.dtype));
  std::int64_t alignment = 16;
  while (matrix.stride * bytes % alignment != 0 || matrix.batch_stride * bytes % alignment != 0) alignment /= 2;
  return static_cast<std::uint32_t>(alignment);
}

Preference preference_of(const ProductShape& shape) {
  cublasLtMatmulPreference_t preference = nullptr;
  check(cublaslt().preference_create(&preference), "stating a preference");
  Preference owned(preference);
  prefer(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, most_workspace);
  prefer(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment_of(shape.a));
  prefer(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment_of(shape.b));
  prefer(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment_of(shape.c));
  prefer(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment_of(shape.c));
  // Parts of K are added in the accumulator's dtype, never in the output's.
  prefer(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, std::uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
  if (shape.a.dtype == DType::f32) {  // Strict: no tensor core multiplies f32.
    prefer(preference, CUBLASLT_MATMUL_PREF_IMPL_MASK, ~std::uint64_t{CUBLASLT_NUMERICAL_IMPL_FLAGS_TENSOR_OP_MASK});
  }
  return owned;
}

std::uint64_t flags_of(const cublasLtMatmulAlgo_t& algorithm) {
  std::uint64_t flags = 0;
  std::size_t written = 0;
  cublaslt().cap_get(&algorithm, CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS, &flags, sizeof(flags), &written);
  return flags;
}

std::string words_of(const cublasLtMatmulAlgo_t& algorithm) {
  return fmt::format("algorithm {}, tile {}, stages {}, split-K {}; {}", config_of(algorithm, CUBLASLT_ALGO_CONFIG_ID),
                     config_of(algorithm, CUBLASLT_ALGO_CONFIG_TILE_ID),
                     config_of(algorithm, CUBLASLT_ALGO_CONFIG_STAGES_ID),
                     config_of(algorithm, CUBLASLT_ALGO_CONFIG_SPLITK_NUM), words_of_flags(flags_of(algorithm)));
}

std::string ProductShape::key() const {
  const auto words = [](const Matrix& m) {
    return fmt::format("{}:{}x{}/{}+{}", name(m.dtype), m.rows, m.columns, m.stride, m.batch_stride);
  };
  return fmt::format("{}{} {}{} -> {} x{} beta {} {} {}", words(a), a_turned == Turned::yes ? "T" : "", words(b),
                     b_turned == Turned::yes ? "T" : "", words(c), batches, beta != 0 ? onto_stride : 0,
                     name(activation), has_bias ? "bias" : "-");
}

}  // namespace assay::cuda
