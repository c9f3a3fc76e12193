#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "model/weights.h"
#include "tensor/coded_formats.h"

namespace assay {

/// A weight as codes with scales, whatever its file's layout: W[n][k] = (value(code) - zero) scale, W: (out, in), with
/// one rounding to f32.
struct CodedMatrix {
  std::int64_t out = 0;
  std::int64_t in = 0;
  Codes codes = Codes::int8;
  /// Codes of outputs [first, first + rows): (rows, in).
  std::function<void(std::int64_t first, std::int64_t rows, std::uint8_t* to)> read = nullptr;

  // Which scale an element has.
  enum class Order : std::uint8_t {
    grid,    ///< (ceil(out / rows_a_scale), scale_columns)
    flowing  ///< One for so many elements of the matrix, row behind row.
  } order = Order::grid;
  std::int64_t rows_a_scale = 1;
  std::int64_t columns_a_scale = 1;
  std::int64_t scale_columns = 1;
  std::vector<std::int32_t> group_of = {};  ///< Column of scales of an input; empty: in order.

  std::vector<float> scales = {};
  std::vector<std::int16_t> zeros = {};  ///< As the scales; empty: `zero` for all.
  std::int16_t zero = 0;
  std::vector<std::uint8_t> scale_bits = {};  ///< As the scales: as nvfp4 and mxfp4 have them.
  float global = 1;                           ///< Of nvfp4.
  float factor = 1;                           ///< A second product, rounded by itself; no format has one.

  std::size_t place(std::int64_t n, std::int64_t k) const;
  /// Inputs from k on that share its scale.
  std::int64_t stretch(std::int64_t n, std::int64_t k) const;
};

/// The scale that e8m0 stands for: 2^(exponent - 127), infinite for the largest.
float e8m0_value(std::uint8_t exponent);
/// Codes of four bits, two in a byte, the first in its low bits.
void split_bytes(const std::byte* bytes, std::int64_t codes, std::uint8_t* to);

/// f32 (out, in).
WeightData widened(const CodedMatrix& matrix);

/// u8 (out, bytes of a row) in a format whose groups lie inside the matrix' (coded_format).
WeightData laid(const CodedMatrix& matrix, const CodedFormat& format);

}  // namespace assay
