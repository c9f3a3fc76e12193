#pragma once

#include <bit>
#include <cmath>
#include <cstddef>

#include "kernels/cuda/launch.h"
#include "tensor/small_float.h"

/// Elements in memory, one at a time or in packs of eight, which full and aligned ones read and write as 16-byte words.
namespace assay::ASSAY_CUDA_NAMESPACE {

constexpr int pack_width = 8;

/// Up to eight neighbours of one row, in f32.
struct Pack {
  float value[pack_width];
};

struct alignas(16) Word {
  std::uint32_t part[4];
};

ON_DEVICE inline float from_f16(std::uint16_t bits) {
#ifdef __CUDA_ARCH__
  return __half2float(__ushort_as_half(bits));
#else
  return decode(bits, f16_format);
#endif
}
ON_DEVICE inline std::uint16_t to_f16_bits(float value) {
#ifdef __CUDA_ARCH__
  return __half_as_ushort(__float2half_rn(value));
#else
  return static_cast<std::uint16_t>(encode(value, f16_format));
#endif
}
ON_DEVICE inline float from_bf16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}
ON_DEVICE inline std::uint16_t to_bf16_bits(float value) {
#ifdef __CUDA_ARCH__
  return __bfloat16_as_ushort(__float2bfloat16_rn(value));
#else
  return static_cast<std::uint16_t>(encode(value, bf16_format));
#endif
}

// A copy of the format on the stack: code for the GPU may not refer to the host's globals.
ON_DEVICE inline float from_8bit(DType dtype, std::uint8_t bits) {
  const SmallFormat format = dtype == DType::e4m3 ? SmallFormat(e4m3_format) : SmallFormat(e5m2_format);
  return decode(bits, format);
}
ON_DEVICE inline std::uint8_t to_8bit(DType dtype, float value) {
  const SmallFormat format = dtype == DType::e4m3 ? SmallFormat(e4m3_format) : SmallFormat(e5m2_format);
  return static_cast<std::uint8_t>(encode(value, format));
}

/// `value` rounded to nearest even and clamped to what fits; NaN gives 0.
ON_DEVICE inline float to_whole(float value, float lowest, float highest) {
  if (value != value) return 0;
  const float nearest = rintf(value);
  return nearest < lowest ? lowest : nearest > highest ? highest : nearest;
}

ON_DEVICE inline float load(DType dtype, const std::byte* data, std::int64_t i) {
  switch (dtype) {
    case DType::f32:
    case DType::tf32:
      return reinterpret_cast<const float*>(data)[i];
    case DType::f16:
      return from_f16(reinterpret_cast<const std::uint16_t*>(data)[i]);
    case DType::bf16:
      return from_bf16(reinterpret_cast<const std::uint16_t*>(data)[i]);
    case DType::e4m3:
    case DType::e5m2:
      return from_8bit(dtype, reinterpret_cast<const std::uint8_t*>(data)[i]);
    case DType::s32:
      return static_cast<float>(reinterpret_cast<const std::int32_t*>(data)[i]);
    case DType::s8:
      return static_cast<float>(reinterpret_cast<const std::int8_t*>(data)[i]);
    case DType::u8:
      return static_cast<float>(reinterpret_cast<const std::uint8_t*>(data)[i]);
    case DType::f64:
      return static_cast<float>(reinterpret_cast<const double*>(data)[i]);
  }
  return 0;
}

ON_DEVICE inline void store(DType dtype, std::byte* data, std::int64_t i, float value) {
  switch (dtype) {
    case DType::f32:
    case DType::tf32:
      reinterpret_cast<float*>(data)[i] = value;
      return;
    case DType::f16:
      reinterpret_cast<std::uint16_t*>(data)[i] = to_f16_bits(value);
      return;
    case DType::bf16:
      reinterpret_cast<std::uint16_t*>(data)[i] = to_bf16_bits(value);
      return;
    case DType::e4m3:
    case DType::e5m2:
      reinterpret_cast<std::uint8_t*>(data)[i] = to_8bit(dtype, value);
      return;
    case DType::s32:
      reinterpret_cast<std::int32_t*>(data)[i] =
          static_cast<std::int32_t>(to_whole(value, -2147483648.0F, 2147483520.0F));
      return;
    case DType::s8:
      reinterpret_cast<std::int8_t*>(data)[i] = static_cast<std::int8_t>(to_whole(value, -128, 127));
      return;
    case DType::u8:
      reinterpret_cast<std::uint8_t*>(data)[i] = static_cast<std::uint8_t>(to_whole(value, 0, 255));
      return;
    case DType::f64:
      reinterpret_cast<double*>(data)[i] = value;
      return;
  }
}

/// `value` rounded to a dtype of 16 bits; others keep it.
ON_DEVICE inline float rounded(DType dtype, float value) {
  if (dtype == DType::f16) return from_f16(to_f16_bits(value));
  if (dtype == DType::bf16) return from_bf16(to_bf16_bits(value));
  return value;
}

ON_DEVICE inline bool is_word_aligned(const std::byte* address) {
  return reinterpret_cast<std::uintptr_t>(address) % sizeof(Word) == 0;
}

ON_DEVICE inline bool is_32bit_float(DType dtype) {
  return dtype == DType::f32 || dtype == DType::tf32;
}
ON_DEVICE inline bool is_16bit(DType dtype) {
  return dtype == DType::f16 || dtype == DType::bf16;
}

/// Whether eight elements from `first` on are whole 16-byte words.
ON_DEVICE inline bool has_words(DType dtype, const std::byte* data, std::int64_t first) {
  if (is_32bit_float(dtype)) return is_word_aligned(data + first * 4);
  return is_16bit(dtype) && is_word_aligned(data + first * 2);
}

/// An input as rows and columns. Absent ones have no data.
struct In {
  const std::byte* data = nullptr;
  std::int64_t stride = 0;
  DType dtype = DType::f32;

  ON_DEVICE bool present() const { return data != nullptr; }
  ON_DEVICE float operator()(std::int64_t row, std::int64_t column) const {
    return load(dtype, data, row * stride + column);
  }
  ON_DEVICE float operator()(std::int64_t index) const { return load(dtype, data, index); }

  /// Columns first .. first + 7 of a row of `width`; zeros behind its end.
  ON_DEVICE Pack pack(std::int64_t row, std::int64_t first, std::int64_t width) const {
    const std::int64_t from = row * stride + first;
    if (first + pack_width <= width && has_words(dtype, data, from)) return words(from);
    Pack result;
    for (int i = 0; i < pack_width; ++i) result.value[i] = first + i < width ? load(dtype, data, from + i) : 0;
    return result;
  }

  /// Elements from .. from + 7, which has_words says can be read so.
  ON_DEVICE Pack words(std::int64_t from) const {
    Pack result;
    if (is_32bit_float(dtype)) {
      const Word* words = reinterpret_cast<const Word*>(data + from * 4);
      for (int word = 0; word < 2; ++word) {
        const Word bits = words[word];
        for (int i = 0; i < 4; ++i) result.value[word * 4 + i] = std::bit_cast<float>(bits.part[i]);
      }
      return result;
    }
    const Word bits = *reinterpret_cast<const Word*>(data + from * 2);
    for (int i = 0; i < pack_width; ++i) {
      const auto half = static_cast<std::uint16_t>(bits.part[i / 2] >> (i % 2 * 16));
      result.value[i] = dtype == DType::f16 ? from_f16(half) : from_bf16(half);
    }
    return result;
  }
};

/// An input or output with each stretch of a norm as a row.
template <typename Rows>
struct Grouped {
  Rows all;
  NormRows norm;

  ON_DEVICE std::int64_t row_of(std::int64_t row) const { return norm.groups == 1 ? row : row / norm.groups; }
  ON_DEVICE std::int64_t column_of(std::int64_t row) const {
    return norm.groups == 1 ? 0 : row % norm.groups * norm.width;
  }
  ON_DEVICE bool present() const { return all.present(); }
  ON_DEVICE float operator()(std::int64_t row, std::int64_t i) const { return all(row_of(row), column_of(row) + i); }
  ON_DEVICE void set(std::int64_t row, std::int64_t i, float value) const {
    all.set(row_of(row), column_of(row) + i, value);
  }
  ON_DEVICE auto pack(std::int64_t row, std::int64_t first) const {
    const std::int64_t column = column_of(row);
    return all.pack(row_of(row), column + first, column + norm.width);
  }
  template <typename Values>
  ON_DEVICE void set_pack(std::int64_t row, std::int64_t first, const Values& pack) const {
    const std::int64_t column = column_of(row);
    all.set_pack(row_of(row), column + first, column + norm.width, pack);
  }
};

/// An output as rows and columns. Absent ones have no data: writing goes nowhere.
struct Out {
  std::byte* data = nullptr;
  std::int64_t stride = 0;
  DType dtype = DType::f32;

  ON_DEVICE bool present() const { return data != nullptr; }
  ON_DEVICE void set(std::int64_t row, std::int64_t column, float value) const {
    if (data != nullptr) store(dtype, data, row * stride + column, value);
  }

  ON_DEVICE void set_pack(std::int64_t row, std::int64_t first, std::int64_t width, const Pack& pack) const {
    if (data == nullptr) return;
    const std::int64_t to = row * stride + first;
    if (first + pack_width <= width && has_words(dtype, data, to)) {
      set_words(to, pack);
    } else {
      for (int i = 0; i < pack_width && first + i < width; ++i) store(dtype, data, to + i, pack.value[i]);
    }
  }

  /// Elements to .. to + 7, which has_words says can be written so.
  ON_DEVICE void set_words(std::int64_t to, const Pack& pack) const {
    if (is_32bit_float(dtype)) {
      Word* words = reinterpret_cast<Word*>(data + to * 4);
      for (int word = 0; word < 2; ++word) {
        Word bits;
        for (int i = 0; i < 4; ++i) bits.part[i] = std::bit_cast<std::uint32_t>(pack.value[word * 4 + i]);
        words[word] = bits;
      }
      return;
    }
    Word bits;
    for (int i = 0; i < 4; ++i) bits.part[i] = half(pack.value[2 * i]) | half(pack.value[2 * i + 1]) << 16;
    *reinterpret_cast<Word*>(data + to * 2) = bits;
  }

 private:
  ON_DEVICE std::uint32_t half(float value) const {
    return dtype == DType::f16 ? to_f16_bits(value) : to_bf16_bits(value);
  }
};

/// A pack of a row as it is, in y's dtype. From: an In, or what has packs as one does.
template <typename From>
struct CopyPack {
  From x;
  Out y;
  std::int64_t width;

  ON_DEVICE void operator()(std::int64_t row, std::int64_t first) const {
    y.set_pack(row, first, width, x.pack(row, first, width));
  }
};

inline In input(const Call& call, const Memory& memory, std::size_t index) {
  const Argument& argument = call.in(index);
  return {argument.present ? memory.in<std::byte>(index) : nullptr, argument.row_stride, argument.dtype};
}
inline Out output(const Call& call, const Memory& memory, std::size_t index) {
  const Argument& argument = call.out(index);
  return {argument.present ? memory.out<std::byte>(index) : nullptr, argument.row_stride, argument.dtype};
}

inline std::int64_t packs(std::int64_t width) {
  return (width + pack_width - 1) / pack_width;
}

/// body(row, first column) for every pack of a matrix.
template <typename Body>
struct EachPack {
  Body body;
  std::int64_t packs_a_row;
  ON_DEVICE void operator()(std::int64_t i) const { body(i / packs_a_row, i % packs_a_row * pack_width); }
};

template <typename Body>
void for_packs(std::int64_t rows, std::int64_t width, const Body& body) {
  for_elements(rows * packs(width), EachPack<Body>{body, packs(width)});
}

/// body(row, column) for every element of a matrix.
template <typename Body>
struct EachElement {
  Body body;
  std::int64_t width;
  ON_DEVICE void operator()(std::int64_t i) const { body(i / width, i % width); }
};

template <typename Body>
void for_matrix(std::int64_t rows, std::int64_t width, const Body& body) {
  for_elements(rows * width, EachElement<Body>{body, width});
}

}  // namespace assay::ASSAY_CUDA_NAMESPACE
