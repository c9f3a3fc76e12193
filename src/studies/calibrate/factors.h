#pragma once

#include <cstdint>
#include <vector>

#include "studies/calibrate/places.h"
#include "tensor/tensor.h"

namespace assay {

/// A place as the choice of factors sees it: what reaches it, and what multiplies that.
struct FactorProblem {
  const LinearPlace& place;
  const Tensor& rows;                   ///< (n, width): what the samples put there.
  const std::vector<Tensor>& matrices;  ///< (out, width) of each layer, without factors.
  const std::vector<Tensor>& outputs;   ///< (n, out) of each layer, exact.
};

/// s = max|x|^alpha / max|w|^(1 - alpha), by row of what is divided, scaled so that they lie around 1; 1 where either
/// is nothing (SmoothQuant, Xiao et al. 2023, eq. 4).
std::vector<float> smoothing_factors(double alpha, const std::vector<float>& activations,
                                     const std::vector<float>& weights);

/// Factors s that make the expected error of 8-bit products small, found by descent from `start`. x / s is rounded by
/// steps of a_t = max_c |x_tc| / s_c / 127 a row, W s by b_i = max_c |W_ic| s_c / 127, and errors of rounding are
/// uniform:
///
///   E(s) = sum_t (1 / power_t) (a_t^2 / 12 sum_ic (W_ic s_c)^2 + sum_i b_i^2 / 12 sum_c (x_tc / s_c)^2)
///
/// power_t: of the exact output of row t; the sum runs over layers too. Products, sums and maxima of positive monomials
/// in s are convex in log s, so that descent ends near the least whatever the start; the maximum is taken as a norm of
/// 16, which has a gradient everywhere.
std::vector<float> descended_factors(const FactorProblem& problem, const std::vector<float>& start);

/// x / s, (n, width): rows x as the layers read them behind factors s (width).
Tensor divided_rows(const Tensor& rows, const std::vector<float>& factors);

/// E(s) as above, without its constant factor. For tests.
double expected_error(const FactorProblem& problem, const std::vector<float>& factors);

}  // namespace assay
