#include "studies/calibrate/parameters.h"

#include <algorithm>

#include "model/stored_values.h"
#include "model/weights.h"
#include "tensor/dtype.h"

namespace assay {

const std::string& matrix_name(const Program& built, std::size_t layer) {
  return built.value(built.nodes[layer].inputs[1]).name;
}

const std::string* bias_name(const Program& built, std::size_t layer) {
  const Node& node = built.nodes[layer];
  if (node.inputs.size() < 3 || node.inputs[2] == no_value) return nullptr;
  return &built.value(node.inputs[2]).name;
}

Tensor matrix_of(const StudiedModel& model, std::size_t layer) {
  const WeightData data = in_f32(model.model.weights.at(matrix_name(model.built, layer)).load());
  Tensor copy(DType::f32, data.view.shape);
  std::copy_n(data.view.data, data.view.bytes(), copy.data());
  return copy;
}

std::vector<Tensor> matrices_of(const StudiedModel& model, const LinearPlace& place) {
  std::vector<Tensor> matrices;
  matrices.reserve(place.layers.size());
  for (const std::size_t n : place.layers) matrices.push_back(matrix_of(model, n));
  return matrices;
}

void add_column_power(const Tensor& matrix, std::vector<double>& power) {
  for (std::int64_t i = 0; i < matrix.count(); ++i)
    power[static_cast<std::size_t>(i) % power.size()] +=
        static_cast<double>(matrix.as<float>()[i]) * matrix.as<float>()[i];
}

}  // namespace assay
