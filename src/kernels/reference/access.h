#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "kernels/kernel.h"
#include "tensor/dtype.h"

namespace assay::reference {

/// Element `index` of an array of that dtype, exactly.
double load(DType dtype, const std::byte* data, std::int64_t index);
/// Writes `value` with one rounding: to nearest even; integers saturate.
void store(DType dtype, std::byte* data, std::int64_t index, double value);

/// An input as rows and columns of doubles, whatever its dtype and row stride.
class Reader {
 public:
  Reader(const Argument& argument, const std::byte* data)
      : dtype_(argument.dtype), stride_(argument.row_stride), data_(data) {}
  bool present() const { return data_ != nullptr; }
  double operator()(std::int64_t row, std::int64_t column) const { return load(dtype_, data_, row * stride_ + column); }
  /// Element of a vector: gains, biases, scales.
  double operator()(std::int64_t index) const { return load(dtype_, data_, index); }

 private:
  DType dtype_;
  std::int64_t stride_;
  const std::byte* data_;
};

/// An output as rows and columns; writes to an absent one go nowhere.
class Writer {
 public:
  Writer(const Argument& argument, std::byte* data)
      : dtype_(argument.dtype), stride_(argument.row_stride), data_(data) {}
  void set(std::int64_t row, std::int64_t column, double value) const {
    if (data_ != nullptr) store(dtype_, data_, row * stride_ + column, value);
  }

 private:
  DType dtype_;
  std::int64_t stride_;
  std::byte* data_;
};

inline Reader reader(const Call& call, const Memory& memory, std::size_t index) {
  return {call.in(index), memory.in<std::byte>(index)};
}
inline Writer writer(const Call& call, const Memory& memory, std::size_t index) {
  return {call.out(index), memory.out<std::byte>(index)};
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

}  // namespace assay::reference
