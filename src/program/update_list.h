#pragma once

#include <cstddef>

#include "program/program.h"

namespace assay {

/// Where the operands of op::adamw and op::sgd stand. Inputs: those of the first parameter, those of the second, ...,
/// then what the whole step shares. Outputs likewise, then the counts of lost updates. Attributes hold for all, but
/// random numbers of parameter k are drawn from stream + k.
struct UpdateList {
  std::size_t parameters = 0;
  std::size_t inputs_each = 0;   ///< adamw: w, g, m, v; sgd: w, g, momentum
  std::size_t outputs_each = 0;  ///< adamw: w, m, v; sgd: w, momentum

  std::size_t input(std::size_t parameter, std::size_t operand) const { return parameter * inputs_each + operand; }
  std::size_t output(std::size_t parameter, std::size_t operand) const { return parameter * outputs_each + operand; }
  std::size_t hyper() const { return parameters * inputs_each; }
  std::size_t seed() const { return hyper() + 1; }
  std::size_t lost() const { return parameters * outputs_each; }
};

/// Of a node or call with that many inputs; a defect where they are no whole number of parameters.
UpdateList update_list(const Operation& operation, std::size_t inputs);

}  // namespace assay
