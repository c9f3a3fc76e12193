#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "base/error.h"
#include "kernels/kernel.h"
#include "tensor/dtype.h"
#include "tensor/small_float.h"

namespace assay::reference {

template <typename T>
inline T at(const std::byte* data, std::int64_t index) {
  return reinterpret_cast<const T*>(data)[index];
}

template <typename T>
inline void put(std::byte* data, std::int64_t index, T value) {
  reinterpret_cast<T*>(data)[index] = value;
}

template <typename T>
inline T to_integer(double value) {
  if (std::isnan(value)) return 0;
  constexpr double lowest = std::numeric_limits<T>::lowest();
  constexpr double highest = std::numeric_limits<T>::max();
  return static_cast<T>(std::clamp(std::nearbyint(value), lowest, highest));
}

/// Element `index` of an array of that dtype, exactly.
inline double load(DType dtype, const std::byte* data, std::int64_t index) {
  switch (dtype) {
    case DType::f64:
      return at<double>(data, index);
    case DType::f32:
    case DType::tf32:
      return at<float>(data, index);
    case DType::f16:
      return decode(at<std::uint16_t>(data, index), f16_format);
    case DType::bf16:
      return decode(at<std::uint16_t>(data, index), bf16_format);
    case DType::e4m3:
      return decode(at<std::uint8_t>(data, index), e4m3_format);
    case DType::e5m2:
      return decode(at<std::uint8_t>(data, index), e5m2_format);
    case DType::s32:
      return at<std::int32_t>(data, index);
    case DType::s8:
      return at<std::int8_t>(data, index);
    case DType::u8:
      return at<std::uint8_t>(data, index);
  }
  ASSAY_ASSERT(!"a dtype");
  return 0;
}

/// Writes `value` with one rounding: to nearest even; integers saturate.
inline void store(DType dtype, std::byte* data, std::int64_t index, double value) {
  switch (dtype) {
    case DType::f64:
      return put(data, index, value);
    case DType::f32:
    case DType::tf32:
      return put(data, index, static_cast<float>(value));
    case DType::f16:
      return put(data, index, static_cast<std::uint16_t>(encode(value, f16_format)));
    case DType::bf16:
      return put(data, index, static_cast<std::uint16_t>(encode(value, bf16_format)));
    case DType::e4m3:
      return put(data, index, static_cast<std::uint8_t>(encode(value, e4m3_format)));
    case DType::e5m2:
      return put(data, index, static_cast<std::uint8_t>(encode(value, e5m2_format)));
    case DType::s32:
      return put(data, index, to_integer<std::int32_t>(value));
    case DType::s8:
      return put(data, index, to_integer<std::int8_t>(value));
    case DType::u8:
      return put(data, index, to_integer<std::uint8_t>(value));
  }
  ASSAY_ASSERT(!"a dtype");
}

/// Where a row begins, in elements.
struct RowOffset {
  std::int64_t stride = 0;
  std::int64_t groups = 1;  ///< by_group: rows that lie in one.
  std::int64_t group_width = 0;

  /// With each stretch of a norm as a row.
  RowOffset by_group(const NormRows& rows) const { return {stride, rows.groups, rows.width}; }
  std::int64_t operator()(std::int64_t row) const {
    return groups == 1 ? row * stride : row / groups * stride + row % groups * group_width;
  }
};

/// An input as rows and columns of doubles, whatever its dtype and row stride.
class Reader {
 public:
  Reader(const Argument& argument, const std::byte* data)
      : dtype_(argument.dtype), offset_{argument.row_stride}, data_(data) {}
  bool present() const { return data_ != nullptr; }
  double operator()(std::int64_t row, std::int64_t column) const { return load(dtype_, data_, offset_(row) + column); }
  /// Element of a vector: gains, biases, scales.
  double operator()(std::int64_t index) const { return load(dtype_, data_, index); }
  Reader by_group(const NormRows& rows) const {
    Reader grouped = *this;
    grouped.offset_ = offset_.by_group(rows);
    return grouped;
  }

 private:
  DType dtype_;
  RowOffset offset_;
  const std::byte* data_;
};

/// An output as rows and columns; writes to an absent one go nowhere. With a scale s8 is Attributes::output_scale's.
class Writer {
 public:
  Writer(const Argument& argument, std::byte* data, double scale)
      : dtype_(argument.dtype),
        offset_{argument.row_stride},
        data_(data),
        scale_(argument.dtype == DType::s8 ? scale : 0) {}
  void set(std::int64_t row, std::int64_t column, double value) const {
    if (data_ == nullptr) return;
    const double stored = scale_ == 0 ? value : std::clamp(value / scale_, -127.0, 127.0);
    store(dtype_, data_, offset_(row) + column, stored);
  }
  Writer by_group(const NormRows& rows) const {
    Writer grouped = *this;
    grouped.offset_ = offset_.by_group(rows);
    return grouped;
  }

 private:
  DType dtype_;
  RowOffset offset_;
  std::byte* data_;
  double scale_;
};

inline Reader reader(const Call& call, const Memory& memory, std::size_t index) {
  return {call.in(index), memory.in<std::byte>(index)};
}
inline Writer writer(const Call& call, const Memory& memory, std::size_t index) {
  return {call.out(index), memory.out<std::byte>(index), call.attributes.output_scale};
}

/// Arithmetic in attributes.math: 16-bit dtypes are rounded to after every step; f32 is kept in f64 and rounded once,
/// when the result is stored, which makes these loops the oracle of the f32 kernels.
class Math {
 public:
  explicit Math(DType dtype) : dtype_(dtype), exact_(size_of(dtype) >= 4) {}
  double operator()(double value) const { return exact_ ? value : round_to(dtype_, static_cast<float>(value)); }

 private:
  DType dtype_;
  bool exact_;
};

/// f(x) by its definition.
double activate(Activation activation, double x);
/// cap tanh(x / cap); x where there is no cap. The slope is that at the x which gave y.
inline double soft_capped(double x, double cap) {
  return cap == 0 ? x : cap * std::tanh(x / cap);
}
inline double soft_cap_slope(double y, double cap) {
  return cap == 0 ? 1 : 1 - y / cap * (y / cap);
}
/// f'(x); of relu at 0: 0.
double activation_slope(Activation activation, double x);

}  // namespace assay::reference
