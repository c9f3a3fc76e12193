#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hardware/facts.h"
#include "program/program.h"
#include "studies/sensitivity/request.h"
#include "tensor/precision.h"

namespace assay {

/// A part of a model that can have a precision of its own.
struct ModelUnit {
  UnitKind kind = UnitKind::layer;
  std::string name = {};                   ///< "layers.3.attn.q_proj", "layers.3", "@mlp", "everything".
  std::string role = {};                   ///< Of a layer.
  std::optional<std::int64_t> block = {};  ///< Which `layers.N` a layer or block is.
  double depth = 0;                        ///< 0 to 1: its place among the operations of a run.
  std::vector<std::string> weights = {};   ///< Of a linear layer: the parameter's name; of experts', that of each.
  std::vector<std::string> patterns = {};  ///< Of layer overrides that mean it.

  bool is_linear() const { return !weights.empty(); }
};

/// The units of these kinds in a program as build_program makes it, in the order in which they run; the whole last.
std::vector<ModelUnit> units_of(const Program& built, const std::vector<UnitKind>& kinds);

/// `rest` with the unit in `row`. Both settled for the machine.
PrecisionChoice with_unit(const PrecisionChoice& rest, const ModelUnit& unit, const Precision& row);

/// Whether the operation belongs to the unit.
bool belongs(const ModelUnit& unit, const Node& node);

/// Bytes as stored of the constants that operations of a run read, each once; of those that belong to a unit, where one
/// is given. What is made of constants before a run counts as what it became.
double bytes_of_constants(const Program& program, const ModelUnit* unit = nullptr);

}  // namespace assay
