#include "model/changed_weights.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/error.h"
#include "model/stored_values.h"

namespace assay {
namespace {

Tensor copy_of(const TensorView& view) {
  Tensor copy(DType::f32, view.shape);
  std::copy_n(view.data, view.bytes(), copy.data());
  return copy;
}

void change_matrix(const WeightChange& change, Tensor& weight) {
  const auto columns = static_cast<std::size_t>(weight.shape().back());
  const auto rows = static_cast<std::size_t>(weight.count()) / columns;
  ASSAY_ASSERT(change.by_column.empty() || change.by_column.size() == columns);
  ASSAY_ASSERT(change.by_row.empty() || change.by_row.size() == rows);
  for (std::size_t i = 0; i < rows; ++i) {
    float* const row = weight.as<float>() + i * columns;
    const float of_row = change.by_row.empty() ? 1.0F : change.by_row[i];
    for (std::size_t j = 0; j < columns; ++j)
      row[j] *= change.by_column.empty() ? of_row : of_row * change.by_column[j];
  }
}

Tensor matrix_of(const RowCodes& coded, const Shape& shape) {
  Tensor matrix(DType::f32, shape);
  ASSAY_ASSERT(coded.codes.size() == static_cast<std::size_t>(matrix.count()));
  const std::size_t columns = coded.codes.size() / coded.scales.size();
  for (std::size_t i = 0; i < coded.codes.size(); ++i)
    matrix.as<float>()[i] = static_cast<float>(coded.codes[i]) * coded.scales[i / columns];
  return matrix;
}

void change_vector(const WeightChange& change, Tensor& weight) {
  const auto count = static_cast<std::size_t>(weight.count());
  ASSAY_ASSERT(change.by_column.empty() && (change.by_row.empty() || change.by_row.size() == count) &&
               (change.added.empty() || change.added.size() == count));
  for (std::size_t i = 0; i < count; ++i) {
    float& value = weight.as<float>()[i];
    if (!change.added.empty()) value += change.added[i];
    if (!change.by_row.empty()) value = (value + change.offset) * change.by_row[i] - change.offset;
  }
}

WeightData changed(WeightData data, const WeightChange& change) {
  Tensor weight =
      data.owned.count() > 0 && data.owned.data() == data.view.data ? std::move(data.owned) : copy_of(data.view);
  if (weight.shape().size() == 1) {
    change_vector(change, weight);
  } else {
    change_matrix(change, weight);
  }
  return owning(std::move(weight));
}

}  // namespace

Weights changed_weights(const Weights& weights, const std::shared_ptr<const WeightChanges>& changes) {
  Weights result = weights;
  for (auto& [name, weight] : result.by_name) {
    if (!changes->contains(name)) continue;
    weight.load = [load = weight.load, changes = changes, name = name, shape = weight.shape] {
      const RowCodes& coded = changes->at(name).codes;
      if (!coded.codes.empty()) return owning(matrix_of(coded, shape));
      return changed(in_f32(load()), changes->at(name));
    };
    weight.blocks = nullptr;
    weight.load_blocks = nullptr;
  }
  return result;
}

}  // namespace assay
