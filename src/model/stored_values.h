#pragma once

#include "model/weights.h"

namespace assay {

/// The dtype of the values that `weight.load` gives: bf16 or f16 where the file has that, else f32.
DType read_dtype(const Weight& weight);
/// Whether these lie in the file, so that nothing is made of them.
bool is_read_in_place(const Weight& weight);
/// Values in memory of their own.
WeightData owning(Tensor values);
/// What was loaded, in f32.
WeightData in_f32(WeightData data);

}  // namespace assay
