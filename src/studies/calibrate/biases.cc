#include "studies/calibrate/biases.h"

#include <cstddef>
#include <string>
#include <vector>

#include "studies/calibrate/parameters.h"
#include "tensor/tensor.h"

namespace assay {
namespace {

/// exact - low, by column.
std::vector<float> mean_difference(const Tensor& exact, const Tensor& low) {
  const auto width = static_cast<std::size_t>(exact.shape().back());
  std::vector<double> sums(width);
  for (std::size_t i = 0; i < static_cast<std::size_t>(exact.count()); ++i)
    sums[i % width] += exact.as<float>()[i] - low.as<float>()[i];
  std::vector<float> means;
  means.reserve(width);
  const auto rows = static_cast<double>(exact.count()) / static_cast<double>(width);
  for (const double sum : sums) means.push_back(static_cast<float>(sum / rows));
  return means;
}

}  // namespace

void correct_biases(const ModelTrial& trial, const RowsAtPlace& at, double scale) {
  const Program& built = trial.subject.built;
  const std::vector<Tensor> low = low_outputs(trial, at.place, at.rows, scale);
  for (std::size_t i = 0; i < at.place.layers.size(); ++i) {
    const std::size_t layer = at.place.layers[i];
    const std::string* const name = bias_name(built, layer);
    if (name == nullptr || built.nodes[layer].attributes.activation != Activation::none) continue;
    WeightChange& bias = trial.changes[*name];
    bias.added = mean_difference(at.exact[i], low[i]);
    // What is added is multiplied with the bias by the factors of its rows.
    for (std::size_t j = 0; j < bias.by_row.size(); ++j) bias.added[j] /= bias.by_row[j];
  }
}

}  // namespace assay
