#include "studies/shared/plan_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "model/architecture.h"
#include "program/operation.h"
#include "results/record.h"

namespace assay {
namespace {

/// Distinct weight bytes that one run reads: of experts, of those that run.
double weight_bytes(const Plan& plan, const Program& program) {
  const Extent extent = plan.options().extent;
  std::set<ValueId> seen;
  double total = 0;
  for (const Step& step : plan.steps()) {
    const Node& node = program.nodes[step.node];
    if (node.operation == &op::embedding || node.operation == &op::add_rows) continue;
    const double share = expert_places(*node.operation) ? read_experts(program, node, extent) : 1;
    for (const ValueId id : node.inputs) {
      if (id == no_value || !program.value(id).constant || !seen.insert(id).second) continue;
      total += share * static_cast<double>(storage_bytes(program, id, extent));
    }
  }
  return total;
}

/// Values of the arena that live during each step.
std::vector<double> live_bytes_by_step(const Plan& plan) {
  const std::size_t steps = plan.steps().size();
  std::vector<double> change(steps + 2, 0);
  for (std::size_t id = 0; id < plan.program().values.size(); ++id) {
    const Placement& value = plan.placement(static_cast<ValueId>(id));
    if (value.bytes <= 0) continue;
    const auto first = std::min(static_cast<std::size_t>(std::max(value.first_step, 1)), steps + 1);
    const auto last = std::min(static_cast<std::size_t>(std::max(value.last_step, 1)), steps);
    change[first] += static_cast<double>(value.bytes);
    change[last + 1] -= static_cast<double>(value.bytes);
  }
  std::vector<double> live(steps);
  std::partial_sum(change.begin() + 1, change.end() - 1, live.begin());
  return live;
}

/// Multiplications and additions of a step's matrix products; none for other operations.
double product_flops(const Step& step, const Program& program, Extent extent) {
  const Node& node = program.nodes[step.node];
  if (node.operation->products == ProductShare::none) return 0;
  // Fused attention counts its softmax too: of its products there are two, of its gradient's five.
  if (node.operation == &op::attention) return 2 * op::attention_scores.flops(program, node, extent);
  if (node.operation == &op::attention_gradient) return 5 * op::attention_scores.flops(program, node, extent);
  if (node.operation == &op::cached_attention) {
    const auto head_dim = static_cast<double>(node.attributes.head_dim);
    return step.flops * 4 * head_dim / attention_flops_a_pair(node.attributes.head_dim);
  }
  return step.flops;
}

enum class Bound : std::uint8_t { instruction, product };

std::optional<double> least_ms(const Plan& plan, const MachineFacts& facts, std::optional<Phase> phase, Bound bound) {
  const Program& program = plan.program();
  double total_ms = 0;
  for (const Step& step : plan.steps()) {
    const MatmulPeak* peak = facts.peak(step.ledger.operand);
    if (peak == nullptr || (phase && program.nodes[step.node].phase != *phase)) continue;
    const double gflops =
        bound == Bound::instruction ? peak->instruction_high_gflops() : peak->product_gflops(step.ledger.accumulator);
    if (gflops > 0) total_ms += product_flops(step, program, plan.options().extent) / gflops * 1e-6;
  }
  if (total_ms == 0) return std::nullopt;
  return total_ms;
}

}  // namespace

void set_product_peak(const MatmulPeak& peak, DType accumulator, Evidence& evidence) {
  if (peak.product_gflops(accumulator) <= 0) return;
  evidence.peak_gflops = peak.product_gflops(accumulator);
  if (accumulator == DType::f16) {
    evidence.peak_kind = fmt::format("{} instruction, adding in f16", name(peak.operand));
    return;
  }
  evidence.matmul_peak_gflops = evidence.peak_gflops;
  evidence.peak_kind = fmt::format("best {} matmul measured here", name(peak.operand));
}

void set_peaks(const MachineFacts& facts, Evidence& evidence) {
  if (facts.bandwidth_gbs > 0) {
    evidence.bandwidth_bytes_per_s = facts.bandwidth_gbs * 1e9;
    evidence.bandwidth_high_bytes_per_s = facts.bandwidth_high_gbs() * 1e9;
  }
  double cache = 0;
  for (const Cache& level : facts.caches) cache = std::max(cache, static_cast<double>(level.bytes) * level.instances);
  if (cache > 0) evidence.cache_bytes = cache;
  if (!facts.peaks.empty()) evidence.peaks_measured_share = facts.measured_share;
  if (const MatmulPeak* peak = facts.peak(DType::f32); peak != nullptr && peak->matmul_gflops > 0) {
    evidence.baseline_matmul_peak_gflops = peak->matmul_gflops;
  }
  const LedgerRow* dominant = dominant_row(evidence.ledger);
  const MatmulPeak* peak = dominant != nullptr ? facts.peak(dominant->operand) : nullptr;
  if (peak == nullptr) return;
  if (peak->instruction_gflops > 0) evidence.instruction_peak_gflops = peak->instruction_gflops;
  set_product_peak(*peak, dominant->accumulator, evidence);
}

LeastTimes least_times(const Plan& plan, const MachineFacts& facts, std::optional<Phase> phase) {
  return {least_ms(plan, facts, phase, Bound::instruction), least_ms(plan, facts, phase, Bound::product)};
}

double product_flops(const Plan& plan) {
  double total = 0;
  for (const Step& step : plan.steps()) total += product_flops(step, plan.program(), plan.options().extent);
  return total;
}

double model_flops(const Model& model, const ProgramOptions& options, Extent extent) {
  const Program program = build_program(model.config, options);
  double total = 0;
  for (const Node& node : program.nodes) {
    if (node.operation->products == ProductShare::all) total += flops(program, node, extent);
  }
  return total;
}

std::vector<double> operation_bytes(const Plan& plan) {
  std::vector<double> bytes;
  bytes.reserve(plan.steps().size());
  for (const Step& step : plan.steps()) bytes.push_back(step.bytes);
  return bytes;
}

Evidence evidence_of(const Plan& plan, const Instance& instance, const MachineFacts& facts) {
  Ledger ledger = plan.ledger();
  const LeastTimes least = least_times(plan, facts);
  Evidence evidence{.inputs = std::move(ledger.inputs),
                    .ledger = std::move(ledger.rows),
                    .operation_bytes = operation_bytes(plan),
                    .moved_bytes = plan.bytes(),
                    .weight_bytes_read = weight_bytes(plan, instance.program()),
                    .instruction_ms = least.instruction_ms,
                    .matmul_ms = least.matmul_ms};
  set_peaks(facts, evidence);
  return evidence;
}

MemoryUse memory_of(const Plan& plan, const Instance& instance, std::optional<std::int64_t> resident_bytes) {
  return {.model_bytes = instance.model_bytes(),
          .packed_bytes = instance.resident_bytes(),
          .arena_bytes = plan.arena_bytes(),
          .peak_bytes = plan.peak_bytes(),
          .resident_bytes = resident_bytes,
          .live_bytes = live_bytes_by_step(plan)};
}

}  // namespace assay
