#pragma once

#include <string>

#include "model/config.h"
#include "tensor/tensor.h"

namespace assay {

/// How a family's checkpoints hold a parameter that the Program has as [out, in].
enum class StoredOrder : std::uint8_t {
  same,
  transposed,  ///< [in, out]
  by_key_head  ///< Queries, keys and values in one matrix: the rows of each key head stand together, its queries first.
};
StoredOrder stored_order(const std::string& canonical, const Family& family);
Shape stored_shape(const Shape& shape, StoredOrder order);

/// The Program's order from the checkpoint's, in the same dtype; `by_key_head` is of the model's heads.
Tensor from_stored(const TensorView& stored, StoredOrder order, const ModelConfig& config);
Tensor to_stored(const TensorView& parameter, StoredOrder order, const ModelConfig& config);

}  // namespace assay
