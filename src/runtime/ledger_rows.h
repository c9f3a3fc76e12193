#pragma once

#include <string>
#include <vector>

#include "kernels/kernel.h"
#include "model/weights.h"
#include "runtime/call.h"
#include "tensor/ledger.h"

namespace assay {

/// For whom a kernel was prepared.
struct LedgerSubject {
  std::string precision;  ///< As requested of what has no row of its own: "bf16", "fp16[norm=f16]".
  std::string device;     ///< The backend's.
  const Program& program;
  const Weights& weights;
};

/// The row of an operation, from the call and the kernel that took it.
LedgerRow ledger_row(const Node& node, const Call& call, const Prepared& prepared, const LedgerSubject& subject);
/// The inputs that a plan with these options reads.
std::vector<LedgerInput> ledger_inputs(const Program& program, const PlanOptions& options, const std::string& device);

}  // namespace assay
