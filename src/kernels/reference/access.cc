#include "kernels/reference/access.h"

#include <algorithm>
#include <numbers>

#include "base/error.h"

namespace assay::reference {
double activate(Activation activation, double x) {
  switch (activation) {
    case Activation::none:
      return x;
    case Activation::relu:
      return std::max(x, 0.0);
    case Activation::gelu_erf:
      return 0.5 * x * std::erfc(-x / std::numbers::sqrt2);
    case Activation::gelu_tanh:  // Hendrycks & Gimpel 2016
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
    case Activation::silu:
      return x / (1 + std::exp(-x));
    case Activation::tanh:
      return std::tanh(x);
  }
  ASSAY_ASSERT(!"an activation");
  return 0;
}

double activation_slope(Activation activation, double x) {
  switch (activation) {
    case Activation::none:
      return 1;
    case Activation::relu:
      return x > 0 ? 1 : 0;
    case Activation::gelu_erf: {
      const double density = std::exp(-0.5 * x * x) / std::sqrt(2 * std::numbers::pi);
      return 0.5 * std::erfc(-x / std::numbers::sqrt2) + x * density;
    }
    case Activation::gelu_tanh: {
      const double slope = std::sqrt(2 / std::numbers::pi);
      const double t = std::tanh(slope * (x + 0.044715 * x * x * x));
      return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * slope * (1 + 3 * 0.044715 * x * x);
    }
    case Activation::silu: {
      const double sigmoid = 1 / (1 + std::exp(-x));
      return sigmoid * (1 + x * (1 - sigmoid));
    }
    case Activation::tanh:
      return 1 - std::tanh(x) * std::tanh(x);
  }
  ASSAY_ASSERT(!"an activation");
  return 0;
}

}  // namespace assay::reference
