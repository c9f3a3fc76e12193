#include "experiments/explain.h"

#include <fmt/format.h>

#include "base/json.h"
#include "base/units.h"

namespace assay {
namespace {

struct Explained {
  Model model;
  std::unique_ptr<Instance> instance;
  std::unique_ptr<Plan> plan;
};

std::unique_ptr<Explained> make_plan(const ExplainRequest& request, const MachineFacts& facts) {
  auto explained = std::make_unique<Explained>();
  explained->model = open_model(request.model, request.model_options);
  check_extent(explained->model, request.extent);
  explained->instance = make_instance(explained->model, request.precision, request.engine, facts);
  explained->plan = std::make_unique<Plan>(*explained->instance, PlanOptions{request.extent, false, {"logits"}});
  return explained;
}

std::string plan_text(const Explained& e) {
  std::string text = fmt::format("{:>4} {:<28} {:<18} {:<6} {:<6} {:>9} {:>9} {:>12}  {}\n", "step", "path",
                                 "operation", "operand", "sums", "MFLOP", "kB", "arena", "kernel");
  const Program& program = e.instance->program();
  for (std::size_t i = 0; i < e.plan->steps().size(); ++i) {
    const Step& step = e.plan->steps()[i];
    std::string offsets;
    for (const ValueId id : program.nodes[step.node].outputs) {
      if (id != no_value) offsets += fmt::format("{}{}", offsets.empty() ? "" : ",", e.plan->placement(id).offset);
    }
    const LedgerRow& row = step.ledger;
    text += fmt::format("{:>4} {:<28} {:<18} {:<6} {:<6} {:>9.3f} {:>9.1f} {:>12}  {} ({}; {})\n", i, row.path,
                        row.operation, name(row.operand), name(row.accumulator), step.flops / 1e6, step.bytes / 1e3,
                        offsets, row.kernel, name(row.verdict), row.evidence);
  }
  return text;
}

}  // namespace

std::string explain_text(const ExplainRequest& request, const MachineFacts& facts) {
  const auto e = make_plan(request, facts);
  std::string text = fmt::format(
      "# {} in {}: {} parameters, stored as {}\n\n## Program\n{}\n## Plan for batch {} x {} tokens\n{}", e->model.name,
      e->instance->precision().name(), format_count(e->model.weights.parameters()), e->model.weights.stored_dtypes(),
      to_string(e->instance->program()), request.extent.batch, request.extent.seq, plan_text(*e));
  text += fmt::format("\n{:.3f} GFLOP and {} read or written a run; weights {} (stored {}), arena {}, peak {}\n",
                      e->plan->flops() / 1e9, format_bytes(e->plan->bytes()),
                      format_bytes(static_cast<double>(e->instance->resident_bytes())),
                      format_bytes(static_cast<double>(e->instance->model_bytes())),
                      format_bytes(static_cast<double>(e->plan->arena_bytes())),
                      format_bytes(static_cast<double>(e->plan->peak_bytes())));
  for (const LedgerInput& input : e->plan->ledger().inputs) {
    text += fmt::format("input {}: {} on {}\n", input.name, name(input.dtype), input.device);
  }
  for (const std::string& note : e->model.notes) text += fmt::format("note: {}\n", note);
  return text;
}

OrderedJson explain_json(const ExplainRequest& request, const MachineFacts& facts) {
  const auto e = make_plan(request, facts);
  OrderedJson steps = OrderedJson::array();
  for (const Step& step : e->plan->steps()) {
    OrderedJson offsets = OrderedJson::array();
    for (const ValueId id : e->instance->program().nodes[step.node].outputs) {
      if (id != no_value) offsets.push_back(e->plan->placement(id).offset);
    }
    const LedgerRow& row = step.ledger;
    steps.push_back({{"path", row.path},
                     {"operation", row.operation},
                     {"role", row.role},
                     {"requested", row.requested},
                     {"kernel", row.kernel},
                     {"operand", name(row.operand)},
                     {"accumulator", name(row.accumulator)},
                     {"stored", name(row.stored)},
                     {"verdict", name(row.verdict)},
                     {"evidence", row.evidence},
                     {"device", row.device},
                     {"flops", step.flops},
                     {"bytes", step.bytes},
                     {"arena_offsets", offsets}});
  }
  OrderedJson inputs = OrderedJson::array();
  for (const LedgerInput& input : e->plan->ledger().inputs) {
    inputs.push_back({{"name", input.name}, {"dtype", name(input.dtype)}, {"device", input.device}});
  }
  return {{"model", e->model.name},
          {"precision", e->instance->precision().name()},
          {"stored", e->model.weights.stored_dtypes()},
          {"parameters", e->model.weights.parameters()},
          {"batch", request.extent.batch},
          {"seq", request.extent.seq},
          {"program", to_string(e->instance->program())},
          {"inputs", inputs},
          {"steps", steps},
          {"flops", e->plan->flops()},
          {"bytes", e->plan->bytes()},
          {"model_bytes", e->instance->model_bytes()},
          {"resident_weight_bytes", e->instance->resident_bytes()},
          {"arena_bytes", e->plan->arena_bytes()},
          {"peak_bytes", e->plan->peak_bytes()}};
}

}  // namespace assay
