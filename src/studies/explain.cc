#include "studies/explain.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "base/json.h"
#include "base/units.h"
#include "results/fields.h"
#include "runtime/forecast.h"

namespace assay {
namespace {

struct Explained {
  Model model;
  std::vector<Pass> passes;
  std::unique_ptr<Instance> instance;  ///< Holds nothing: no weight is read.
  PlanOptions options;
  Forecast plan;
  std::int64_t available_bytes = 0;

  const Program& program() const { return instance->program(); }
  const Node& node(std::size_t step) const { return program().nodes[plan.layout.nodes[step]]; }
  double bytes(std::size_t step) const { return assay::bytes(program(), node(step), options.extent); }
  std::int64_t peak_bytes() const { return plan.constant_bytes() + plan.arena_bytes(); }
};

std::unique_ptr<Explained> make_plan(const ExplainRequest& request, const MachineFacts& facts) {
  auto explained = std::make_unique<Explained>();
  explained->model = open_model(request.model, request.model_options);
  check_extent(explained->model, request.extent);
  explained->passes = passes_of(explained->model, request.precision, request.engine, facts);
  explained->instance = make_instance(explained->model, request.precision, request.engine, facts);
  explained->options = PlanOptions{.extent = request.extent};
  const Instance& instance = *explained->instance;
  explained->plan =
      forecast(instance.program(), {instance.precision(), explained->model.weights, instance.backend(), facts},
               explained->options);
  explained->available_bytes = facts.available_bytes;
  return explained;
}

/// Where the results of a step lie in the arena.
std::vector<std::int64_t> offsets(const Explained& e, std::size_t step) {
  std::vector<std::int64_t> all;
  for (const ValueId id : e.node(step).outputs) {
    if (id != no_value) all.push_back(e.plan.layout.values[static_cast<std::size_t>(id)].offset);
  }
  return all;
}

std::string plan_text(const Explained& e) {
  std::string text = fmt::format("{:>4} {:<28} {:<18} {:<6} {:<6} {:>9} {:>9} {:>12}  {}\n", "step", "path",
                                 "operation", "operand", "sums", "MFLOP", "kB", "arena", "kernel");
  for (std::size_t i = 0; i < e.plan.ledger.size(); ++i) {
    const LedgerRow& row = e.plan.ledger[i];
    text += fmt::format("{:>4} {:<28} {:<18} {:<6} {:<6} {:>9.3f} {:>9.1f} {:>12}  {} ({}; {})\n", i, row.path,
                        row.operation, name(row.operand), name(row.accumulator), row.flops / 1e6, e.bytes(i) / 1e3,
                        fmt::join(offsets(e, i), ","), row.kernel, name(row.verdict), row.evidence);
  }
  return text;
}

double total_flops(const Explained& e) {
  double total = 0;
  for (const LedgerRow& row : e.plan.ledger) total += row.flops;
  return total;
}

double total_bytes(const Explained& e) {
  double total = 0;
  for (std::size_t i = 0; i < e.plan.ledger.size(); ++i) total += e.bytes(i);
  return total;
}

/// Of the parameters as the precision stores them: each once, without the padding of packings.
std::int64_t model_bytes(const Explained& e) {
  if (e.plan.master_bytes > 0) return e.plan.master_bytes;
  std::set<ValueId> counted;
  std::int64_t total = 0;
  for (const ForecastConstant& constant : e.plan.constants) {
    if (counted.insert(constant.value).second) total += storage_bytes(e.program(), constant.value, {1, 1});
  }
  return total;
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
  const auto shown = [](std::int64_t bytes) { return format_bytes(static_cast<double>(bytes)); };
  return fmt::format("\n{:.3f} GFLOP and {} read or written a run; weights {} (stored {}), arena {}, peak {}\n",
                     total_flops(e) / 1e9, format_bytes(total_bytes(e)), shown(e.plan.constant_bytes()),
                     shown(model_bytes(e)), shown(e.plan.arena_bytes()), shown(e.peak_bytes()));
}

/// Notes of the model, what the machine settled, and whether it could run this.
std::vector<std::string> notes_of(const Explained& e, const MachineFacts& facts) {
  std::vector<std::string> notes = e.model.notes;
  if (const std::string settled = settled_words(*e.instance, facts); !settled.empty()) notes.push_back(settled);
  if (e.available_bytes > 0 && e.peak_bytes() > e.available_bytes) {
    notes.push_back(fmt::format("does not fit: the peak is {}, {} are available",
                                format_bytes(static_cast<double>(e.peak_bytes())),
                                format_bytes(static_cast<double>(e.available_bytes))));
  }
  return notes;
}

OrderedJson step_json(const Explained& e, std::size_t step) {
  OrderedJson json = to_json(e.plan.ledger[step]);
  json["bytes"] = e.bytes(step);
  json["arena_offsets"] = offsets(e, step);
  return json;
}

std::vector<LedgerInput> inputs_of(const Explained& e) {
  return ledger_inputs(e.program(), e.options, e.instance->backend().device);
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
  for (const LedgerInput& input : inputs_of(*e)) {
    text += fmt::format("input {}: {} on {}\n", input.name, name(input.dtype), input.device);
  }
  for (const std::string& note : notes_of(*e, facts)) text += fmt::format("note: {}\n", note);
  return text;
}

OrderedJson explain_json(const ExplainRequest& request, const MachineFacts& facts) {
  const auto e = make_plan(request, facts);
  OrderedJson steps = OrderedJson::array();
  for (std::size_t i = 0; i < e->plan.ledger.size(); ++i) steps.push_back(step_json(*e, i));
  OrderedJson inputs = OrderedJson::array();
  for (const LedgerInput& input : inputs_of(*e)) inputs.push_back(to_json(input));
  OrderedJson json = {{"model", e->model.name},
                      {"precision", e->instance->precision().name()},
                      {"stored", e->model.weights.stored_dtypes()},
                      {"parameters", e->model.weights.parameters()},
                      {"batch", request.extent.batch},
                      {"seq", request.extent.seq},
                      {"program", to_string(e->instance->program())},
                      {"inputs", inputs},
                      {"steps", steps},
                      {"flops", total_flops(*e)},
                      {"bytes", total_bytes(*e)},
                      {"model_bytes", model_bytes(*e)},
                      {"resident_weight_bytes", e->plan.constant_bytes()},
                      {"arena_bytes", e->plan.arena_bytes()},
                      {"peak_bytes", e->peak_bytes()},
                      {"notes", notes_of(*e, facts)}};
  if (request.passes == ShownPasses::all) json["passes"] = passes_json(*e);
  return json;
}

}  // namespace assay
