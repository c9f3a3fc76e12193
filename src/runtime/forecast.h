#pragma once

#include <cstdint>
#include <vector>

#include "model/weights.h"
#include "runtime/instance.h"
#include "runtime/ledger_rows.h"
#include "tensor/precision.h"

namespace assay {

/// A constant as a plan would hold it.
struct ForecastConstant {
  ValueId value = no_value;
  Packing packing;
  std::int64_t bytes = 0;
};

/// What a plan would hold, found out without reading a weight or allocating a buffer. Equals what Instance and Plan
/// then really have: they ask the same kernels.
struct Forecast {
  Layout layout;
  std::vector<std::int64_t> workspace_bytes;  ///< By step, as layout.nodes.
  std::vector<LedgerRow> ledger;              ///< By step.
  std::vector<ForecastConstant> constants;    ///< In the order in which they would be made.
  std::int64_t master_bytes = 0;              ///< mixed-*: f32 parameters that stay beside their 16-bit copies.
  std::int64_t slab_gap_bytes = 0;  ///< Ends of huge pages that packed constants leave empty (tensor/slabs.h).
  std::int64_t loading_bytes = 0;   ///< The most that lies in memory while constants are made.

  std::int64_t most_workspace_bytes() const;
  std::int64_t constant_bytes() const;  ///< All constants and master weights.
  std::int64_t arena_bytes() const;
};

/// What decides a forecast besides the program; the same that decides an instance.
struct ForecastInputs {
  const PrecisionChoice& precision;
  const Weights& weights;
  const Backend& backend;
  const MachineFacts& facts;
  MasterWeights masters = MasterWeights::kept;
};

/// `program` has been through the passes; of options.state only the program's own state is looked at. Throws
/// Error(lacking) where no kernel takes an operation, a user error for an unknown output.
Forecast forecast(const Program& program, const ForecastInputs& inputs, const PlanOptions& options);

}  // namespace assay
