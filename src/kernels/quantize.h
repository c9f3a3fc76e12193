#pragma once

#include "tensor/dtype.h"

/// What every backend's quantize_rows and quantize_weight agree on:
///
///   scale = largest / limit, q = x * (limit / largest), in f32 and rounded once more to q's dtype, to nearest even
///
/// A row that holds NaN or infinity gets the scale NaN, and so does what is made with it: s8 has no place for either,
/// and a product would come out finite as if nothing had been wrong.
namespace assay {

/// The largest magnitude that is used: s8 leaves -128 out, so that zero is in the middle; e4m3 ends at 448. A scaled
/// value may pass it by a rounding of f32, and rounds to it.
constexpr float quantized_limit(DType dtype) {
  return dtype == DType::e4m3 ? 448 : 127;
}

/// Rows without a magnitude above this count as zeros and get scale 1, so that no product with them is NaN: the limit
/// over it must stay finite in f32.
constexpr float smallest_row = 0x1p-100F;

}  // namespace assay
