#include "experiments/explain.h"

#include <fmt/format.h>

#include "base/json.h"
#include "base/units.h"
#include "results/fields.h"

namespace assay {
namespace {

struct Explained {
  Model model;
  std::vector<Pass> passes;
  std::unique_ptr<Instance> instance;
  std::unique_ptr<Plan> plan;
};

std::unique_ptr<Explained> make_plan(const ExplainRequest& request, const MachineFacts& facts) {
  auto explained = std::make_unique<Explained>();
  explained->model = open_model(request.model, request.model_options);
  check_extent(explained->model, request.extent);
  explained->passes = passes_of(explained->model, request.precision, request.engine, facts);
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

std::string passes_text(const Explained& e, const ExplainRequest& request) {
  std::string text;
  for (const Pass& pass : e.passes) {
    const bool is_last = &pass == &e.passes.back();
    if (request.passes == ShownPasses::last && !is_last) continue;
    text += fmt::format("\n## Program after {} ({} operations)\n{}", pass.name, pass.program.nodes.size(),
                        to_string(pass.program));
  }
  return text;
}

std::string totals_text(const Explained& e) {
  return fmt::format("\n{:.3f} GFLOP and {} read or written a run; weights {} (stored {}), arena {}, peak {}\n",
                     e.plan->flops() / 1e9, format_bytes(e.plan->bytes()),
                     format_bytes(static_cast<double>(e.instance->resident_bytes())),
                     format_bytes(static_cast<double>(e.instance->model_bytes())),
                     format_bytes(static_cast<double>(e.plan->arena_bytes())),
                     format_bytes(static_cast<double>(e.plan->peak_bytes())));
}

/// Notes of the model and what the machine settled.
std::vector<std::string> notes_of(const Explained& e, const MachineFacts& facts) {
  std::vector<std::string> notes = e.model.notes;
  if (const std::string settled = settled_words(*e.instance, facts); !settled.empty()) notes.push_back(settled);
  return notes;
}

OrderedJson step_json(const Explained& e, const Step& step) {
  OrderedJson json = to_json(step.ledger);
  json["bytes"] = step.bytes;
  json["arena_offsets"] = OrderedJson::array();
  for (const ValueId id : e.instance->program().nodes[step.node].outputs) {
    if (id != no_value) json["arena_offsets"].push_back(e.plan->placement(id).offset);
  }
  return json;
}

OrderedJson passes_json(const Explained& e) {
  OrderedJson passes = OrderedJson::array();
  for (const Pass& pass : e.passes) passes.push_back({{"pass", pass.name}, {"program", to_string(pass.program)}});
  return passes;
}

}  // namespace

std::string explain_text(const ExplainRequest& request, const MachineFacts& facts) {
  const auto e = make_plan(request, facts);
  std::string text =
      fmt::format("# {} in {}: {} parameters, stored as {}\n", e->model.name, e->instance->precision().name(),
                  format_count(e->model.weights.parameters()), e->model.weights.stored_dtypes());
  text += passes_text(*e, request);
  text +=
      fmt::format("\n## Plan for batch {} x {} tokens\n{}", request.extent.batch, request.extent.seq, plan_text(*e));
  text += totals_text(*e);
  for (const LedgerInput& input : e->plan->ledger().inputs) {
    text += fmt::format("input {}: {} on {}\n", input.name, name(input.dtype), input.device);
  }
  for (const std::string& note : notes_of(*e, facts)) text += fmt::format("note: {}\n", note);
  return text;
}

OrderedJson explain_json(const ExplainRequest& request, const MachineFacts& facts) {
  const auto e = make_plan(request, facts);
  OrderedJson steps = OrderedJson::array();
  for (const Step& step : e->plan->steps()) steps.push_back(step_json(*e, step));
  OrderedJson inputs = OrderedJson::array();
  for (const LedgerInput& input : e->plan->ledger().inputs) inputs.push_back(to_json(input));
  OrderedJson json = {{"model", e->model.name},
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
                      {"peak_bytes", e->plan->peak_bytes()},
                      {"notes", notes_of(*e, facts)}};
  if (request.passes == ShownPasses::all) json["passes"] = passes_json(*e);
  return json;
}

}  // namespace assay
