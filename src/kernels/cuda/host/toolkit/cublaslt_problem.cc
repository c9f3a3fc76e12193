#include "kernels/cuda/host/toolkit/cublaslt_problem.h"

#include <fmt/format.h>

#include <span>

namespace assay::cuda {
namespace {

cudaDataType_t cublas_type(DType dtype) {
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
    case DType::e5m2:
      return CUDA_R_8F_E5M2;
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

/// Algorithms that use tensor cores. Hopper's for tf32 and 8-bit floats call their unit FMA (cuBLASLt 12.4): there what
/// they multiply tells, for no other unit does.
constexpr std::uint64_t multiplies_on_tensor_cores_only = CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_TF32 |
                                                          CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_8F_E4M3 |
                                                          CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_8F_E5M2;
constexpr std::uint64_t uses_tensor_cores =
    CUBLASLT_NUMERICAL_IMPL_FLAGS_TENSOR_OP_MASK | multiplies_on_tensor_cores_only;

struct FlagWords {
  std::uint64_t flag;
  const char* words;
};
constexpr FlagWords units[] = {{CUBLASLT_NUMERICAL_IMPL_FLAGS_HMMA, "tensor cores (HMMA)"},
                               {CUBLASLT_NUMERICAL_IMPL_FLAGS_IMMA, "tensor cores (IMMA)"},
                               {uses_tensor_cores, "tensor cores"},
                               {CUBLASLT_NUMERICAL_IMPL_FLAGS_FMA, "FMA"}};
constexpr FlagWords inputs[] = {
    {CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_16F, "f16"},     {CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_16BF, "bf16"},
    {CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_TF32, "tf32"},   {CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_32F, "f32"},
    {CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_8I, "s8"},       {CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_8F_E4M3, "e4m3"},
    {CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_8F_E5M2, "e5m2"}};
constexpr FlagWords accumulators[] = {{CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_16F, "f16"},
                                      {CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_32F, "f32"},
                                      {CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_32I, "s32"}};

/// The words of the first flag that is set.
const char* first_of(std::span<const FlagWords> table, std::uint64_t flags) {
  for (const FlagWords& one : table) {
    if ((flags & one.flag) != 0) return one.words;
  }
  return "unknown";
}

std::string words_of_flags(std::uint64_t flags) {
  return fmt::format("{}, {} in, {} sums", first_of(units, flags), first_of(inputs, flags),
                     first_of(accumulators, flags));
}

int config_of(const cublasLtMatmulAlgo_t& algorithm, cublasLtMatmulAlgoConfigAttributes_t attribute) {
  std::int32_t value = -1;
  std::size_t written = 0;
  cublaslt().config_get(&algorithm, attribute, &value, sizeof(value), &written);
  return value;
}

Layout layout_of(const Matrix& matrix, std::int64_t stride, int batches) {
  cublasLtMatrixLayout_t layout = nullptr;
  check(cublaslt().layout_create(&layout, cublas_type(matrix.dtype), static_cast<std::uint64_t>(matrix.rows),
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

/// What no algorithm for operands of that dtype may have: strict f32 no tensor cores, tf32 no operands of f32, which
/// the heuristic proposes for it too.
std::uint64_t banned_flags(DType operand) {
  if (operand == DType::f32) return uses_tensor_cores;
  return operand == DType::tf32 ? CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_32F : 0;
}

/// The library's own choice of parts is a negative number.
std::string words_of_split(int parts) {
  return parts < 0 ? "split-K by the library" : fmt::format("split-K {}", parts);
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
  // Fast accumulation leaves sums of 8-bit floats in the tensor cores, which keep fewer bits than f32.
  if (shape.a.dtype == DType::e4m3) set(description, CUBLASLT_MATMUL_DESC_FAST_ACCUM, std::int8_t{0});
  return owned;
}

}  // namespace

ProductLayouts layouts_of(const ProductShape& shape) {
  const std::int64_t onto_stride = shape.beta != 0 ? shape.onto_stride : shape.c.stride;
  return {description_of(shape), layout_of(shape.a, shape.a.stride, shape.batches),
          layout_of(shape.b, shape.b.stride, shape.batches), layout_of(shape.c, onto_stride, shape.batches),
          layout_of(shape.c, shape.c.stride, shape.batches)};
}

Preference preference_of(const ProductShape& shape, Addresses addresses) {
  const auto alignment = [addresses](const Matrix& matrix) {
    return addresses == Addresses::any ? static_cast<std::uint32_t>(size_of(matrix.dtype)) : alignment_of(matrix);
  };
  cublasLtMatmulPreference_t preference = nullptr;
  check(cublaslt().preference_create(&preference), "stating a preference");
  Preference owned(preference);
  prefer(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, most_workspace);
  prefer(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment(shape.a));
  prefer(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment(shape.b));
  prefer(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment(shape.c));
  prefer(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment(shape.c));
  // Parts of K are added in the accumulator's dtype, never in the output's.
  prefer(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, std::uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
  if (const std::uint64_t banned = banned_flags(shape.a.dtype); banned != 0)
    prefer(preference, CUBLASLT_MATMUL_PREF_IMPL_MASK, ~banned);
  return owned;
}

bool is_allowed(const ProductShape& shape, const cublasLtMatmulAlgo_t& algorithm) {
  return (flags_of(algorithm) & banned_flags(shape.a.dtype)) == 0;
}

std::uint64_t flags_of(const cublasLtMatmulAlgo_t& algorithm) {
  std::uint64_t flags = 0;
  std::size_t written = 0;
  cublaslt().cap_get(&algorithm, CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS, &flags, sizeof(flags), &written);
  return flags;
}

std::string words_of(const cublasLtMatmulAlgo_t& algorithm) {
  return fmt::format(
      "algorithm {}, tile {}, stages {}, {}; {}", config_of(algorithm, CUBLASLT_ALGO_CONFIG_ID),
      config_of(algorithm, CUBLASLT_ALGO_CONFIG_TILE_ID), config_of(algorithm, CUBLASLT_ALGO_CONFIG_STAGES_ID),
      words_of_split(config_of(algorithm, CUBLASLT_ALGO_CONFIG_SPLITK_NUM)), words_of_flags(flags_of(algorithm)));
}

}  // namespace assay::cuda
