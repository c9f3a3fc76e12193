#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/error.h"
#include "base/threads.h"
#include "tensor/dtype.h"
#include "tensor/small_float.h"

namespace assay {
namespace {

using Loop = void (*)(const void* from, void* to, std::size_t count);

/// tf32's stored form, told apart from f32 by its rounding.
struct tf32 {
  float value;
};

/// Every element widens exactly to f64, and each store rounds once from there.
template <typename T>
double load(T value) {
  if constexpr (std::is_arithmetic_v<T>)
    return value;
  else if constexpr (std::is_same_v<T, tf32>)
    return value.value;
  else
    return to_f32(value);
}

template <typename T>
T store(double value) {
  if constexpr (std::is_integral_v<T>) {
    if (std::isnan(value)) return 0;
    constexpr double lowest = std::numeric_limits<T>::lowest();
    constexpr double highest = std::numeric_limits<T>::max();
    return static_cast<T>(std::clamp(std::nearbyint(value), lowest, highest));
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(value);
  } else if constexpr (std::is_same_v<T, tf32>) {
    return {decode(encode(value, tf32_format), tf32_format)};
  } else if constexpr (std::is_same_v<T, f16>) {
    return {static_cast<std::uint16_t>(encode(value, f16_format))};
  } else if constexpr (std::is_same_v<T, bf16>) {
    return {static_cast<std::uint16_t>(encode(value, bf16_format))};
  } else if constexpr (std::is_same_v<T, e4m3>) {
    return {static_cast<std::uint8_t>(encode(value, e4m3_format))};
  } else {
    static_assert(std::is_same_v<T, e5m2>);
    return {static_cast<std::uint8_t>(encode(value, e5m2_format))};
  }
}

template <typename From, typename To>
void convert_each(const void* from, void* to, std::size_t count) {
  const auto* source = static_cast<const From*>(from);
  auto* target = static_cast<To*>(to);
  for (std::size_t i = 0; i < count; ++i) target[i] = store<To>(load(source[i]));
}

/// e4m3 into another float: each of its values is rounded once, beforehand.
template <typename To>
void look_up(const void* from, void* to, std::size_t count) {
  static const std::array<To, 256> values = [] {
    std::array<To, 256> rounded;
    std::transform(e4m3_values.begin(), e4m3_values.end(), rounded.begin(),
                   [](float value) { return store<To>(value); });
    return rounded;
  }();
  const auto* source = static_cast<const std::uint8_t*>(from);
  auto* target = static_cast<To*>(to);
  for (std::size_t i = 0; i < count; ++i) target[i] = values[source[i]];
}

/// Calls `use` with a value of the C++ type of `dtype` and returns what it returns.
template <typename Use>
Loop with_type(DType dtype, Use&& use) {
  switch (dtype) {
    case DType::f64:
      return use(double{});
    case DType::f32:
      return use(float{});
    case DType::tf32:
      return use(tf32{});
    case DType::f16:
      return use(f16{});
    case DType::bf16:
      return use(bf16{});
    case DType::e4m3:
      return use(e4m3{});
    case DType::e5m2:
      return use(e5m2{});
    case DType::s32:
      return use(std::int32_t{});
    case DType::s8:
      return use(std::int8_t{});
    case DType::u8:
      return use(std::uint8_t{});
  }
  ASSAY_ASSERT(!"a dtype");
  return nullptr;
}

Loop scalar_loop(DType from, DType to) {
  return with_type(from, [to]<typename From>(From) {
    return with_type(to, []<typename To>(To) -> Loop {
      if constexpr (std::is_same_v<From, e4m3> && !std::is_integral_v<To>) return look_up<To>;
      return convert_each<From, To>;
    });
  });
}

#if defined(__x86_64__)
#define ASSAY_AVX2 __attribute__((target("avx2,f16c")))

// Eight elements a step is memory speed already; the tail goes through the scalar loop.

ASSAY_AVX2 void f16_to_f32(const void* from, void* to, std::size_t count) {
  const auto* source = static_cast<const f16*>(from);
  auto* target = static_cast<float*>(to);
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m128i half = _mm_loadu_si128(reinterpret_cast<const __m128i*>(source + i));
    _mm256_storeu_ps(target + i, _mm256_cvtph_ps(half));
  }
  convert_each<f16, float>(source + i, target + i, count - i);
}

ASSAY_AVX2 void f32_to_f16(const void* from, void* to, std::size_t count) {
  const auto* source = static_cast<const float*>(from);
  auto* target = static_cast<f16*>(to);
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m128i half = _mm256_cvtps_ph(_mm256_loadu_ps(source + i), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(target + i), half);
  }
  convert_each<float, f16>(source + i, target + i, count - i);
}

/// The quiet bit in the lanes that hold a NaN.
ASSAY_AVX2 inline __m256i quiet_nan_bits(__m256 value) {
  const __m256i is_nan = _mm256_castps_si256(_mm256_cmp_ps(value, value, _CMP_UNORD_Q));
  return _mm256_and_si256(is_nan, _mm256_set1_epi32(0x400000));
}

ASSAY_AVX2 void bf16_to_f32(const void* from, void* to, std::size_t count) {
  const auto* source = static_cast<const bf16*>(from);
  auto* target = static_cast<float*>(to);
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m128i half = _mm_loadu_si128(reinterpret_cast<const __m128i*>(source + i));
    const __m256i wide = _mm256_slli_epi32(_mm256_cvtepu16_epi32(half), 16);
    const __m256i quiet = _mm256_or_si256(wide, quiet_nan_bits(_mm256_castsi256_ps(wide)));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(target + i), quiet);
  }
  convert_each<bf16, float>(source + i, target + i, count - i);
}

/// Rounds on integers: the instruction vcvtneps2bf16 would flush subnormals to zero.
ASSAY_AVX2 inline __m256i rounded_to_bf16(const float* source) {
  const __m256 value = _mm256_loadu_ps(source);
  const __m256i bits = _mm256_castps_si256(value);
  const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
  const __m256i rounded = _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7fff)), odd);
  const __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
  const __m256 is_nan = _mm256_cmp_ps(value, value, _CMP_UNORD_Q);
  const __m256 chosen = _mm256_blendv_ps(_mm256_castsi256_ps(rounded), _mm256_castsi256_ps(quiet), is_nan);
  return _mm256_srli_epi32(_mm256_castps_si256(chosen), 16);
}

ASSAY_AVX2 void f32_to_bf16(const void* from, void* to, std::size_t count) {
  const auto* source = static_cast<const float*>(from);
  auto* target = static_cast<bf16*>(to);
  std::size_t i = 0;
  for (; i + 16 <= count; i += 16) {
    const __m256i packed = _mm256_packus_epi32(rounded_to_bf16(source + i), rounded_to_bf16(source + i + 8));
    // packus interleaves the 128-bit lanes of its operands; this puts the quarters back in order.
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(target + i), _mm256_permute4x64_epi64(packed, 0xd8));
  }
  convert_each<float, bf16>(source + i, target + i, count - i);
}

/// Between two 16-bit types, block by block: the way to f32 is exact, so there is still one rounding.
template <Loop widen, Loop narrow>
void through_f32(const void* from, void* to, std::size_t count) {
  float block[1024];
  const auto* source = static_cast<const std::uint16_t*>(from);
  auto* target = static_cast<std::uint16_t*>(to);
  for (std::size_t i = 0; i < count; i += std::size(block)) {
    const std::size_t elements = std::min(std::size(block), count - i);
    widen(source + i, block, elements);
    narrow(block, target + i, elements);
  }
}

Loop vector_loop(DType from, DType to) {
  // Every processor with AVX2 has F16C, which clang's builtin does not know by name.
  static const bool has_avx2 = __builtin_cpu_supports("avx2");
  if (!has_avx2) return nullptr;
  if (from == DType::f32 && to == DType::f16) return f32_to_f16;
  if (from == DType::f16 && to == DType::f32) return f16_to_f32;
  if (from == DType::f32 && to == DType::bf16) return f32_to_bf16;
  if (from == DType::bf16 && to == DType::f32) return bf16_to_f32;
  if (from == DType::f16 && to == DType::bf16) return through_f32<f16_to_f32, f32_to_bf16>;
  if (from == DType::bf16 && to == DType::f16) return through_f32<bf16_to_f32, f32_to_f16>;
  return nullptr;
}
#else
Loop vector_loop(DType, DType) {
  return nullptr;
}
#endif

}  // namespace

void convert(DType from_dtype, const void* from, DType to_dtype, void* to, std::size_t count) {
  if (count == 0) return;
  const std::size_t from_bytes = size_of(from_dtype);
  const std::size_t to_bytes = size_of(to_dtype);
  const bool same_bits = from_dtype == to_dtype || (from_dtype == DType::tf32 && to_dtype == DType::f32);
  const Loop vector = vector_loop(from_dtype, to_dtype);
  const Loop loop = vector != nullptr ? vector : scalar_loop(from_dtype, to_dtype);
  // A thread pays from about 64 Ki elements on.
  parallel_for(static_cast<std::int64_t>(count), 1 << 16, [&](std::int64_t begin, std::int64_t end) {
    const auto* source = static_cast<const std::byte*>(from) + static_cast<std::size_t>(begin) * from_bytes;
    auto* target = static_cast<std::byte*>(to) + static_cast<std::size_t>(begin) * to_bytes;
    const auto elements = static_cast<std::size_t>(end - begin);
    if (same_bits)
      std::memcpy(target, source, elements * to_bytes);
    else
      loop(source, target, elements);
  });
}

}  // namespace assay
