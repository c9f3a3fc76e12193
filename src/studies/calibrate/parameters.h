#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "program/program.h"
#include "studies/calibrate/places.h"
#include "studies/sensitivity/run.h"
#include "tensor/tensor.h"

namespace assay {

/// What the matrix of a linear node is called.
const std::string& matrix_name(const Program& built, std::size_t layer);
/// The same of its bias; null where it has none.
const std::string* bias_name(const Program& built, std::size_t layer);

/// A linear node's matrix (out, width) in f32, with what has been changed in the model's weights until now.
Tensor matrix_of(const StudiedModel& model, std::size_t layer);
/// Those of a place, a layer each.
std::vector<Tensor> matrices_of(const StudiedModel& model, const LinearPlace& place);

/// Adds sum_i W_ic^2 of a matrix (out, width) to each of width sums.
void add_column_power(const Tensor& matrix, std::vector<double>& power);

}  // namespace assay
