#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "hardware/facts.h"
#include "model/architecture.h"
#include "model/model.h"
#include "results/parts.h"
#include "runtime/instance.h"
#include "runtime/plan.h"

namespace assay {

/// What a plan's matrix products take where each runs at its operand's rate; products whose operand has no rate take
/// no time. Absent where none has.
struct LeastTimes {
  std::optional<double> instruction_ms;
  std::optional<double> matmul_ms;
};
/// Of one phase, or of all.
LeastTimes least_times(const Plan& plan, const MachineFacts& facts, std::optional<Phase> phase = std::nullopt);
/// Multiplications and additions of the model's matrix products in one pass, attention's included, masked parts not:
/// of the primitive operations, whatever a precision or fusion makes of them.
double model_flops(const Model& model, const ProgramOptions& options, Extent extent);
/// The same of a plan's own operations, at the depth that its extent has.
double product_flops(const Plan& plan);
/// What each operation reads and writes, in their order.
std::vector<double> operation_bytes(const Plan& plan);

/// This machine's bandwidth and caches, and its matmul rates for the ledger that `evidence` has.
void set_peaks(const MachineFacts& facts, Evidence& evidence);
/// The part of them that `peak_share` is of: MatmulPeak::product_gflops, and what kind of peak that is.
void set_product_peak(const MatmulPeak& peak, DType accumulator, Evidence& evidence);
/// What is known before anything runs, besides `flops`: bytes, ledger, this machine's peaks.
Evidence evidence_of(const Plan& plan, const Instance& instance, const MachineFacts& facts);
/// `resident_bytes`: of a process of its own, where it ran in one.
MemoryUse memory_of(const Plan& plan, const Instance& instance, std::optional<std::int64_t> resident_bytes = {});

}  // namespace assay
