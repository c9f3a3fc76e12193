#pragma once

#include <immintrin.h>

#include <cstddef>

// Included behind ASSAY_TARGET: registers of 8 sums in s32, which the products of bytes share.
namespace assay::cpu::micro {
namespace {

struct S32Sums {
  using Vector = __m256i;
  static Vector zero() { return _mm256_setzero_si256(); }
  static Vector load(const std::byte* c) { return _mm256_load_si256(reinterpret_cast<const __m256i*>(c)); }
  static void store(std::byte* c, Vector sums) { _mm256_store_si256(reinterpret_cast<__m256i*>(c), sums); }
  static Vector load_weights(const std::byte* panel) { return load(panel); }
  static Vector broadcast(const std::byte* a) {
    int four;
    __builtin_memcpy(&four, a, sizeof(four));
    return _mm256_set1_epi32(four);
  }
};

}  // namespace
}  // namespace assay::cpu::micro
