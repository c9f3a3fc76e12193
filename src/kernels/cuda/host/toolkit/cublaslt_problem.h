#pragma once

#include "base/handle.h"
#include "kernels/cuda/host/cublaslt.h"
#include "kernels/cuda/host/toolkit/cublaslt_library.h"
#include "kernels/cuda/host/toolkit/gpu.h"

/// A product as cuBLASLt is told of it, and what it tells of its algorithms.
namespace assay::cuda {

constexpr std::size_t most_workspace = std::size_t{32} << 20;  ///< What NVIDIA recommends for Hopper.

inline void destroy_description(cublasLtMatmulDesc_t description) {
  cublaslt().desc_destroy(description);
}
inline void destroy_layout(cublasLtMatrixLayout_t layout) {
  cublaslt().layout_destroy(layout);
}
inline void destroy_preference(cublasLtMatmulPreference_t preference) {
  cublaslt().preference_destroy(preference);
}
using Description = Handle<cublasLtMatmulDesc_t, destroy_description>;
using Layout = Handle<cublasLtMatrixLayout_t, destroy_layout>;
using Preference = Handle<cublasLtMatmulPreference_t, destroy_preference>;

template <typename Value>
void set(cublasLtMatmulDesc_t description, cublasLtMatmulDescAttributes_t attribute, const Value& value) {
  check(cublaslt().desc_set(description, attribute, &value, sizeof(value)), "describing a product");
}

/// A product in the library's terms.
struct ProductLayouts {
  Description description;
  Layout a, b, onto, c;
};
ProductLayouts layouts_of(const ProductShape& shape);

/// What the matrices' addresses are multiples of: what alignment_of says, or of an element only.
enum class Addresses : std::uint8_t { as_aligned, any };
Preference preference_of(const ProductShape& shape, Addresses addresses);
/// Whether the precision lets the algorithm multiply so: fp32 without tensor cores, tf32 no f32.
bool is_allowed(const ProductShape& shape, const cublasLtMatmulAlgo_t& algorithm);

/// CUBLASLT_NUMERICAL_IMPL_FLAGS of an algorithm: which unit multiplies what and adds in what.
std::uint64_t flags_of(const cublasLtMatmulAlgo_t& algorithm);
/// "algorithm 66, tile 20, stages 15, split-K 1; tensor cores (HMMA), bf16 in, f32 sums".
std::string words_of(const cublasLtMatmulAlgo_t& algorithm);

}  // namespace assay::cuda
