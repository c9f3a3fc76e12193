#include "model/stored_values.h"

#include <utility>

namespace assay {

DType read_dtype(const Weight& weight) {
  if (weight.stored == "BF16") return DType::bf16;
  return weight.stored == "F16" ? DType::f16 : DType::f32;
}

bool is_read_in_place(const Weight& weight) {
  const bool is_float = weight.stored == "F32" || read_dtype(weight) != DType::f32;
  return is_float && weight.order == StoredOrder::same && !weight.rows_moved;
}

WeightData owning(Tensor values) {
  WeightData data{{}, std::move(values)};
  data.view = data.owned.view();
  return data;
}

WeightData in_f32(WeightData data) {
  if (data.view.dtype == DType::f32) return data;
  return owning(converted(data.view, DType::f32));
}

}  // namespace assay
