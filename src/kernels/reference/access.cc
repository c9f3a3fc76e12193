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

}  // namespace assay::reference
