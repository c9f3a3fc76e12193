#include "studies/calibrate/trials.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "studies/sensitivity/alone.h"
#include "tensor/dtype.h"

namespace assay {
namespace {

Tensor layer_output(const StudiedModel& model, std::size_t node, const PrecisionChoice& choice, const Tensor& rows) {
  const Node& linear = model.built.nodes[node];
  PrecisionChoice own = choice;  // What it says of other layers names nothing in this one's program.
  std::erase_if(own.layers, [&](const LayerOverride& one) { return !one.matches(linear.path, linear.role); });
  LayerAlone layer(model, linear, own, {1, rows.shape()[0]});
  Tensor copy(DType::f32, rows.shape());
  std::copy_n(rows.data(), rows.bytes(), copy.data());
  layer.set_input({std::move(copy)});
  layer.run();
  return layer.output();
}

std::vector<Tensor> layer_outputs(const StudiedModel& model, const LinearPlace& place, const PrecisionChoice& choice,
                                  const Tensor& rows) {
  std::vector<Tensor> outputs;
  outputs.reserve(place.layers.size());
  for (const std::size_t n : place.layers) outputs.push_back(layer_output(model, n, choice, rows));
  return outputs;
}

/// Of one row.
double relative_power(const float* exact, const float* low, std::int64_t width) {
  double power = 0;
  double noise = 0;
  for (std::int64_t i = 0; i < width; ++i) {
    const double difference = static_cast<double>(low[i]) - exact[i];
    power += static_cast<double>(exact[i]) * exact[i];
    noise += difference * difference;
  }
  return power > 0 ? noise / power : 0;
}

double mean_of_rows(const Tensor& exact, const Tensor& low) {
  const std::int64_t width = exact.shape().back();
  const std::int64_t rows = exact.count() / width;
  double sum = 0;
  for (std::int64_t row = 0; row < rows; ++row)
    sum += relative_power(exact.as<float>() + row * width, low.as<float>() + row * width, width);
  return sum / static_cast<double>(rows);
}

}  // namespace

std::vector<Tensor> exact_outputs(const StudiedModel& model, const LinearPlace& place, const Tensor& rows) {
  return layer_outputs(model, place, model.fp32, rows);
}

std::vector<Tensor> low_outputs(const ModelTrial& trial, const LinearPlace& place, const Tensor& rows, double scale) {
  PrecisionChoice choice = trial.row;
  const auto scales = std::make_shared<ActivationScales>();
  if (scale != scale_by_row) {
    for (const std::size_t n : place.layers) (*scales)[trial.subject.built.nodes[n].path] = scale;
  }
  choice.scales = scales;
  return layer_outputs(trial.changed, place, choice, rows);
}

double low_error(const ModelTrial& trial, const RowsAtPlace& at, double scale) {
  const std::vector<Tensor> low = low_outputs(trial, at.place, at.rows, scale);
  double sum = 0;
  for (std::size_t i = 0; i < low.size(); ++i) sum += mean_of_rows(at.exact[i], low[i]);
  return sum / static_cast<double>(low.size());
}

}  // namespace assay
