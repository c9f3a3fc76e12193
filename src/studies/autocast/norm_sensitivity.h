#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "results/table.h"
#include "tensor/dtype.h"

namespace assay {

/// The formats that a norm may be computed in: f32, f16, bf16.
std::vector<DType> norm_dtypes();

/// What a format can hold, worked out from the format itself.
struct FormatRow {
  DType dtype = DType::f32;
  int bits = 0;
  int exponent_bits = 0;
  int mantissa_bits = 0;  ///< As stored; the leading one is implied.
  double epsilon = 0;     ///< Distance from 1 to the next value.
  double largest = 0;
  double smallest_normal = 0;
  double smallest_subnormal = 0;
};
FormatRow format_row(DType dtype);

/// The least value of the dtype whose square is infinite in it.
double first_overflowing_square(DType dtype);

/// LayerNorm beside RMSNorm on the same rows of normal numbers of deviation 1 around `mean`: differences, squares and
/// results rounded to the dtype, sums in f32, so that what is seen is the range of a square.
struct NormRow {
  DType dtype = DType::f16;
  double mean = 0;
  double layer_norm_error = 0;  ///< Largest |result - exact| of the row (exact: in f64, of the same rounded inputs).
  double rms_norm_error = 0;
  bool squares_overflow_in_layer_norm = false;
  bool squares_overflow_in_rms_norm = false;
};
std::vector<NormRow> norm_rows(std::uint64_t seed);

/// 1 / sqrt(variance + epsilon) with every step rounded to the dtype.
struct RsqrtRow {
  DType dtype = DType::f16;
  double variance = 0;
  double stored = 0;           ///< The variance as the dtype holds it.
  double stored_error = 0;     ///< |stored - variance|
  double amplification = 0;    ///< |d rsqrt / d variance| = (variance + epsilon)^-1.5 / 2
  double result = 0;           ///< Without an epsilon a variance that rounds to 0 gives infinity.
  double relative_error = 0;   ///< Of the result, against f64.
  double without_epsilon = 0;  ///< Relative error of 1 / sqrt(variance) alone; infinite where stored is 0.
};
std::vector<RsqrtRow> rsqrt_rows(double epsilon);

/// An epsilon as a dtype holds it.
struct EpsilonRow {
  DType dtype = DType::f16;
  double epsilon = 0;
  double stored = 0;
  bool subnormal = false;  ///< 0 where subnormals are flushed.
  double relative_error = 0;
};
std::vector<EpsilonRow> epsilon_rows();

/// Mean and variance of `width` normal numbers of mean 1 and deviation 1, added one by one in the dtype; the inputs are
/// f16 numbers whatever adds them. Errors: root mean square over 16 draws, relative to f64.
struct WidthRow {
  DType accumulator = DType::f32;
  std::int64_t width = 0;
  double mean_error = 0;
  double variance_error = 0;
};
std::vector<WidthRow> width_rows(std::uint64_t seed);

/// All of them.
struct NormSensitivity {
  std::vector<FormatRow> formats;
  std::vector<NormRow> norms;
  std::vector<RsqrtRow> rsqrts;
  std::vector<EpsilonRow> epsilons;
  std::vector<WidthRow> widths;
};
NormSensitivity norm_sensitivity(std::uint64_t seed);

/// What the figures say, a sentence each; which of the failures bf16 cures among them.
std::vector<std::string> sensitivity_notes(const NormSensitivity& s);
/// A table of each, under "norm_sensitivity".
std::vector<Table> sensitivity_tables(const NormSensitivity& s);

}  // namespace assay
