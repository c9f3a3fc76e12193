#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "program/operation.h"
#include "runtime/trace.h"
#include "studies/sensitivity/run.h"

namespace assay {
namespace {

/// A plan over a batch, operation by operation: joined layers would have one time between them.
struct CostPlan {
  std::unique_ptr<Instance> instance;
  std::unique_ptr<Plan> plan;
  std::vector<std::vector<double>> ms;  ///< By step, a value a round.
};

CostPlan cost_plan(const StudiedModel& subject, const QualityBatch& batch, const PrecisionChoice& choice) {
  CostPlan cost{subject.instance(choice, Fusion::off), nullptr, {}};
  const AttentionMask mask = batch.mask.empty() ? AttentionMask::absent : AttentionMask::given;
  cost.plan = std::make_unique<Plan>(*cost.instance, PlanOptions{.extent = batch.extent, .mask = mask});
  cost.plan->set_inputs(batch.ids, batch.mask, batch.token_types);
  cost.plan->run();
  cost.ms.resize(cost.plan->steps().size());
  return cost;
}

void replay_round(CostPlan& cost) {
  std::vector<StepTime> times(cost.plan->steps().size());
  run_traced(*cost.plan, times);
  for (std::size_t i = 0; i < times.size(); ++i) cost.ms[i].push_back(times[i].ms());
}

bool of_unit(const CostPlan& cost, const ModelUnit& unit, std::size_t step) {
  return belongs(unit, cost.plan->program().nodes[cost.plan->steps()[step].node]);
}

double milliseconds(const CostPlan& cost, const ModelUnit& unit) {
  double total = 0;
  for (std::size_t i = 0; i < cost.ms.size(); ++i) {
    if (of_unit(cost, unit, i)) total += median(cost.ms[i]);
  }
  return total;
}

double moved_bytes(const CostPlan& cost, const ModelUnit& unit) {
  double total = 0;
  for (std::size_t i = 0; i < cost.ms.size(); ++i) {
    if (of_unit(cost, unit, i)) total += cost.plan->steps()[i].bytes;
  }
  return total;
}

}  // namespace

void measure_costs(const StudiedModel& subject, const QualityBatch& batch, ModelSensitivity& study) {
  std::vector<CostPlan> plans;
  plans.reserve(1 + subject.rows.size());
  plans.push_back(cost_plan(subject, batch, subject.fp32));
  for (const PrecisionChoice& row : subject.rows) plans.push_back(cost_plan(subject, batch, row));
  const double end_s = now_s() + subject.request.layer_seconds * static_cast<double>(plans.size());
  for (std::size_t round = 0; round < fewest_for_interval || now_s() < end_s; ++round) {
    if (is_set(subject.callbacks.interrupted)) return;
    if (subject.callbacks.progress)
      subject.callbacks.progress(fmt::format("{}: costs, round {}", subject.model.name, round + 1),
                                 std::max(0.0, end_s - now_s()));
    for (CostPlan& plan : plans) replay_round(plan);
  }
  for (std::size_t p = 0; p < subject.rows.size(); ++p) {
    for (std::size_t u = 0; u < subject.units.size(); ++u) {
      const ModelUnit& unit = subject.units[u];
      study.rows_by_unit[p * subject.units.size() + u].cost =
          UnitCost{milliseconds(plans[0], unit), milliseconds(plans[p + 1], unit),
                   bytes_of_constants(plans[0].plan->program(), &unit),
                   bytes_of_constants(plans[p + 1].plan->program(), &unit), moved_bytes(plans[p + 1], unit)};
    }
  }
}

}  // namespace assay
