#pragma once

#include <cstddef>
#include <cstdint>

#include "program/program.h"

namespace assay {

/// Where the operands of op::adamw, op::sgd and op::block_adamw stand. Inputs: those of the first parameter, those of
/// the second, ..., then what the whole step shares. Outputs likewise, then the counts of lost updates. Attributes hold
/// for all, but random numbers of parameter k are drawn from stream + k.
struct UpdateList {
  std::size_t parameters = 0;
  std::size_t inputs_each = 0;   ///< adamw: w, g, m, v; block_adamw: and the scales of m and v; sgd: w, g, momentum
  std::size_t outputs_each = 0;  ///< The same without g, written over.

  std::size_t input(std::size_t parameter, std::size_t operand) const { return parameter * inputs_each + operand; }
  std::size_t output(std::size_t parameter, std::size_t operand) const { return parameter * outputs_each + operand; }
  /// The operand of a parameter that its output `operand` is written over.
  static std::size_t input_of(std::size_t operand) { return operand == 0 ? 0 : operand + 1; }
  std::size_t hyper() const { return parameters * inputs_each; }
  std::size_t seed() const { return hyper() + 1; }
  std::size_t lost() const { return parameters * outputs_each; }
};

/// What tells the random numbers of a parameter's moments from those of its weight.
constexpr std::int64_t state_stream = std::int64_t{1} << 40;

/// Whether it updates a list of parameters.
bool updates_list(const Operation& operation);
/// Of a node or call with that many inputs; a defect where they are no whole number of parameters.
UpdateList update_list(const Operation& operation, std::size_t inputs);

}  // namespace assay
