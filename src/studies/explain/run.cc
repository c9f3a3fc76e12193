#include "studies/explain/run.h"

#include <set>

namespace assay {

double Explained::total_flops() const {
  double total = 0;
  for (const LedgerRow& row : plan.ledger) total += row.flops;
  return total;
}

double Explained::total_bytes() const {
  double total = 0;
  for (std::size_t i = 0; i < plan.ledger.size(); ++i) total += bytes(i);
  return total;
}

std::int64_t Explained::model_bytes() const {
  if (plan.master_bytes > 0) return plan.master_bytes;
  std::set<ValueId> counted;
  std::int64_t total = 0;
  for (const ForecastConstant& constant : plan.constants) {
    if (counted.insert(constant.value).second) total += storage_bytes(program(), constant.value, {1, 1});
  }
  return total;
}

std::vector<std::int64_t> Explained::offsets(std::size_t step) const {
  std::vector<std::int64_t> all;
  for (const ValueId id : node(step).outputs) {
    if (id != no_value) all.push_back(plan.layout.values[static_cast<std::size_t>(id)].offset);
  }
  return all;
}

std::unique_ptr<Explained> explained_plan(const ExplainRequest& request, const MachineFacts& facts) {
  auto explained = std::make_unique<Explained>();
  explained->model = open_model(request.model, request.model_options);
  check_extent(explained->model, request.extent);
  explained->passes = passes_of(explained->model, request.precision, request.engine, facts);
  explained->instance = make_instance(explained->model, request.precision, request.engine, facts);
  explained->options = PlanOptions{request.extent, false, {"logits"}};
  const Instance& instance = *explained->instance;
  explained->plan =
      forecast(instance.program(), {instance.precision(), explained->model.weights, instance.backend(), facts},
               explained->options);
  explained->available_bytes = facts.available_bytes;
  return explained;
}

}  // namespace assay
