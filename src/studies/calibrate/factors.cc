#include "studies/calibrate/factors.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

#include "studies/calibrate/parameters.h"

namespace assay {
namespace {

/// A channel that is nothing stays as it is.
constexpr float least_magnitude = 1e-5F;
constexpr float most_factor = 1e3F;
constexpr int descent_steps = 80;
/// Of a matrix: some of many stand for all.
constexpr std::int64_t most_outputs = 512;
/// Of the logarithm of the factor that moves most, in the first step.
constexpr double first_step = 0.3;
/// After so many steps they are half as long.
constexpr double steps_to_half = 12;

/// By the logarithm of each channel's factor, or of each row's.
using Logs = std::vector<double>;

float sixteenth_power(float x) {
  const float x2 = x * x;
  const float x4 = x2 * x2;
  const float x8 = x4 * x4;
  return x8 * x8;
}

/// The square of the norm of 16 of |values[c]| * factors[c], which is near the largest.
struct SoftMaximum {
  double square = 0;
  float largest = 0;
  double sum = 0;  ///< Of the sixteenth powers over the largest's.
};

SoftMaximum soft_maximum(const float* values, const std::vector<float>& factors) {
  SoftMaximum result;
  const float* const by = factors.data();
  const std::size_t width = factors.size();
  float largest = 0;
#pragma omp simd reduction(max : largest)
  for (std::size_t c = 0; c < width; ++c) largest = std::max(largest, std::abs(values[c]) * by[c]);
  if (largest == 0) return result;
  const float inverse = 1 / largest;
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::size_t c = 0; c < width; ++c) sum += sixteenth_power(values[c] * by[c] * inverse);
  result.largest = largest;
  result.sum = sum;
  result.square = static_cast<double>(largest) * largest * std::pow(static_cast<double>(sum), 0.125);
  return result;
}

/// to[c] += weight * (the share of channel c in the norm).
void add_norm_shares(const float* values, const std::vector<float>& factors, const SoftMaximum& most, double weight,
                     Logs& to) {
  if (most.largest == 0) return;
  const auto scaled = static_cast<float>(weight / most.sum);
  const float inverse = 1 / most.largest;
  const float* const by = factors.data();
  double* const shares = to.data();
  const std::size_t width = factors.size();
#pragma omp simd
  for (std::size_t c = 0; c < width; ++c)
    shares[c] += static_cast<double>(scaled * sixteenth_power(values[c] * by[c] * inverse));
}

/// E and its gradient by the logarithm of each channel's factor.
class ExpectedError {
 public:
  explicit ExpectedError(const FactorProblem& problem) : problem_(problem) {
    for (std::size_t l = 0; l < problem.matrices.size(); ++l) layers_.push_back(layer_of(l));
  }

  std::size_t width() const { return static_cast<std::size_t>(problem_.rows.shape().back()); }

  /// `gradient`: one value a channel, zeros before.
  double operator()(const std::vector<float>& factors, Logs& gradient) const {
    std::vector<float> inverse = factors;
    for (float& factor : inverse) factor = 1 / factor;
    std::vector<SoftMaximum> of_rows(row_count());
    for (std::size_t t = 0; t < of_rows.size(); ++t) of_rows[t] = soft_maximum(row(t), inverse);
    std::vector<double> weight_of_row(row_count());
    double error = 0;
    for (std::size_t l = 0; l < layers_.size(); ++l) error += add_layer(l, factors, of_rows, weight_of_row, gradient);
    Logs shares(width());
    for (std::size_t t = 0; t < of_rows.size(); ++t)
      add_norm_shares(row(t), inverse, of_rows[t], 2 * of_rows[t].square * weight_of_row[t], shares);
    for (std::size_t c = 0; c < width(); ++c) gradient[c] -= shares[c];
    return error;
  }

 private:
  struct Layer {
    std::vector<double> inverse_power;  ///< By row of x.
    std::vector<double> column_power;   ///< sum_i W_ic^2
    std::vector<double> input_power;    ///< sum_t x_tc^2 / power_t
  };

  std::size_t row_count() const { return static_cast<std::size_t>(problem_.rows.shape()[0]); }
  const float* row(std::size_t t) const { return problem_.rows.as<float>() + t * width(); }

  Layer layer_of(std::size_t l) const {
    Layer layer{{}, std::vector<double>(width()), std::vector<double>(width())};
    const Tensor& outputs = problem_.outputs[l];
    const auto out = static_cast<std::size_t>(outputs.shape().back());
    for (std::size_t t = 0; t < row_count(); ++t) {
      double power = 0;
      for (const float y : std::span(outputs.as<float>() + t * out, out)) power += static_cast<double>(y) * y;
      layer.inverse_power.push_back(power > 0 ? 1 / power : 0);
      for (std::size_t c = 0; c < width(); ++c)
        layer.input_power[c] += static_cast<double>(row(t)[c]) * row(t)[c] * layer.inverse_power[t];
    }
    add_column_power(problem_.matrices[l], layer.column_power);
    return layer;
  }

  double add_layer(std::size_t l, const std::vector<float>& factors, const std::vector<SoftMaximum>& of_rows,
                   std::vector<double>& weight_of_row, Logs& gradient) const {
    const Layer& layer = layers_[l];
    double steps_of_rows = 0;
    for (std::size_t t = 0; t < of_rows.size(); ++t) steps_of_rows += of_rows[t].square * layer.inverse_power[t];
    double weight_power = 0;
    double input_power = 0;
    for (std::size_t c = 0; c < width(); ++c) {
      const double square = static_cast<double>(factors[c]) * factors[c];
      weight_power += square * layer.column_power[c];
      input_power += layer.input_power[c] / square;
    }
    const double steps_of_outputs = add_outputs(l, factors, 2 * input_power, gradient);
    for (std::size_t t = 0; t < of_rows.size(); ++t) weight_of_row[t] += layer.inverse_power[t] * weight_power;
    for (std::size_t c = 0; c < width(); ++c) {
      const double square = static_cast<double>(factors[c]) * factors[c];
      gradient[c] += 2 * square * layer.column_power[c] * steps_of_rows;
      gradient[c] -= 2 * layer.input_power[c] / square * steps_of_outputs;
    }
    return steps_of_rows * weight_power + steps_of_outputs * input_power;
  }

  /// sum_i b_i^2, and its part of the gradient: by outputs that are spread evenly.
  double add_outputs(std::size_t l, const std::vector<float>& factors, double weight, Logs& gradient) const {
    const Tensor& matrix = problem_.matrices[l];
    const std::int64_t outputs = matrix.shape()[0];
    const std::int64_t distance = (outputs + most_outputs - 1) / most_outputs;
    const std::int64_t looked_at = (outputs + distance - 1) / distance;
    const double stands_for = static_cast<double>(outputs) / static_cast<double>(looked_at);
    double sum = 0;
#pragma omp parallel
    {
      Logs mine(width());
#pragma omp for reduction(+ : sum)
      for (std::int64_t i = 0; i < looked_at; ++i) {
        const float* const values = matrix.as<float>() + i * distance * std::ssize(mine);
        const SoftMaximum most = soft_maximum(values, factors);
        sum += most.square * stands_for;
        add_norm_shares(values, factors, most, weight * most.square * stands_for, mine);
      }
#pragma omp critical
      for (std::size_t c = 0; c < mine.size(); ++c) gradient[c] += mine[c];
    }
    return sum;
  }

  const FactorProblem& problem_;
  std::vector<Layer> layers_;
};

std::vector<float> factors_of_channels(const LinearPlace& place, const std::vector<float>& factors) {
  std::vector<float> channels;
  channels.reserve(place.channels.size());
  for (const std::int32_t row : place.channels) channels.push_back(factors[static_cast<std::size_t>(row)]);
  return channels;
}

/// The gradient by the rows that channels come from.
Logs gradient_of_rows(const LinearPlace& place, const Logs& of_channels) {
  Logs rows(static_cast<std::size_t>(place.rows));
  for (std::size_t c = 0; c < of_channels.size(); ++c)
    rows[static_cast<std::size_t>(place.channels[c])] += of_channels[c];
  return rows;
}

double largest_step(const Logs& values) {
  double most = 0;
  for (const double value : values) most = std::max(most, std::abs(value));
  return most;
}

void move_against(const Logs& gradient, double step, std::vector<float>& factors) {
  const double scale = step / largest_step(gradient);
  for (std::size_t i = 0; i < factors.size(); ++i) {
    const double moved = std::log(factors[i]) - scale * gradient[i];
    factors[i] = std::clamp(static_cast<float>(std::exp(moved)), 1 / most_factor, most_factor);
  }
}

}  // namespace

std::vector<float> smoothing_factors(double alpha, const std::vector<float>& activations,
                                     const std::vector<float>& weights) {
  std::vector<float> factors(activations.size(), 1.0F);
  const auto is_nothing = [&](std::size_t i) {
    return activations[i] < least_magnitude || weights[i] < least_magnitude;
  };
  double log_sum = 0;
  double count = 0;
  for (std::size_t i = 0; i < factors.size(); ++i) {
    if (is_nothing(i)) continue;
    factors[i] = static_cast<float>(std::pow(activations[i], alpha) / std::pow(weights[i], 1 - alpha));
    log_sum += std::log(factors[i]);
    ++count;
  }
  const auto middle = static_cast<float>(std::exp(log_sum / std::max(1.0, count)));
  for (std::size_t i = 0; i < factors.size(); ++i) {
    if (!is_nothing(i)) factors[i] = std::clamp(factors[i] / middle, 1 / most_factor, most_factor);
  }
  return factors;
}

std::vector<float> descended_factors(const FactorProblem& problem, const std::vector<float>& start) {
  const ExpectedError error(problem);
  std::vector<float> factors = start;
  std::vector<float> best = start;
  double least = 0;
  for (int step = 0; step <= descent_steps; ++step) {
    Logs gradient(error.width());
    const double found = error(factors_of_channels(problem.place, factors), gradient);
    if (step == 0 || found < least) {
      least = found;
      best = factors;
    }
    const Logs direction = gradient_of_rows(problem.place, gradient);
    if (!(largest_step(direction) > 0)) break;
    move_against(direction, first_step / (1 + step / steps_to_half), factors);
  }
  return best;
}

Tensor divided_rows(const Tensor& rows, const std::vector<float>& factors) {
  Tensor result(DType::f32, rows.shape());
  for (std::size_t i = 0; i < static_cast<std::size_t>(rows.count()); ++i)
    result.as<float>()[i] = rows.as<float>()[i] / factors[i % factors.size()];
  return result;
}

double expected_error(const FactorProblem& problem, const std::vector<float>& factors) {
  Logs gradient(static_cast<std::size_t>(problem.rows.shape().back()));
  return ExpectedError(problem)(factors_of_channels(problem.place, factors), gradient);
}

}  // namespace assay
