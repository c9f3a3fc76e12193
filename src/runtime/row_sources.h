#pragma once

#include <cstddef>
#include <vector>

#include "model/weights.h"
#include "program/program.h"

namespace assay {

/// The node that makes each value of the program; no_node for inputs, weights and state.
using Producers = std::vector<std::size_t>;
constexpr std::size_t no_node = static_cast<std::size_t>(-1);
Producers producers_of(const Program& program);

/// Says which constants are rows of weights, rounded once and nothing else: those are made straight from what the
/// checkpoint holds.
struct RowSources {
  const Program& program;
  const Weights& weights;
  const Producers& producers;

  /// The weights whose rows, one below the other and rounded to its dtype, are `id`; empty where it is computed
  /// otherwise, or holds blocks.
  std::vector<const Weight*> of(ValueId id) const;
  /// The one weight; null where there are several or none.
  const Weight* one_of(ValueId id) const;
};

}  // namespace assay
