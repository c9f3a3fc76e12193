#include "training/programs.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "model/families.h"
#include "program/builder.h"
#include "training/parameter_use.h"

namespace assay {
namespace {

constexpr std::string_view gradient_prefix = "grad.";

void check(const ModelConfig& config, const TrainingOptions& options) {
  const Precision& row = options.precision.row;
  const StateFormat& states = *options.storage.states;
  if (options.optimizer.kind == OptimizerKind::sgd && (states.block > 0 || states.rounding == Rounding::stochastic))
    fail_user("--states {}: is AdamW's; sgd's momentum can be as its weights or f32", states.name);
  if (!options.precision.layers.empty()) {
    fail_user("--with '{}={}': layers can have a precision of their own in inference; training has one",
              options.precision.layers.front().pattern, options.precision.layers.front().row.name);
  }
  if (!row.gradients) fail_user("{}: is a precision for inference; nothing is trained in it", row.name);
  if (config.task == Task::embedding)
    fail_user("an embedding model has no loss; give it a classification head with --labels N");
  if (config.task == Task::classification && config.outputs == Outputs::scores) {
    fail_user(
        "a head of {} gives scores and no classes: training has cross-entropy over classes alone; give it a "
        "classification head with --labels N, N at least 2",
        config.labels == 1 ? "one output" : fmt::format("{} outputs", config.labels));
  }
  if (config.sinks) fail_user("models with attention sinks are not trained yet: nothing gives sinks their gradients");
  if (config.router_loss) {
    fail_user(
        "output_router_logits: asks for the router's loss of balance, which is not built; as false in config.json "
        "the model is trained without it");
  }
  if (options.dropout > 0 && config.family->dropout == Dropout::absent)
    fail_user("--dropout: {} models have none", config.family->name);
  if (options.dropout < 0 || options.dropout >= 1)
    fail_user("--dropout {}: from 0 up to 1 is possible", options.dropout);
}

Program step_program(const ModelConfig& config, const TrainingOptions& options) {
  ProgramOptions model;
  model.objective = Objective::cross_entropy;
  model.dropout = options.dropout;
  model.token_types = options.token_types;
  Program program = assign_training_dtypes(build_program(config, model), options.precision);
  if (options.fusion == Fusion::on) program = fuse(program, Purpose::training);
  if (options.parts == StepParts::forward) return program;
  program = differentiate(
      program,
      {.recompute = options.recompute, .gradients = options.gradients, .stored_as = options.storage.gradients});
  if (options.fusion == Fusion::on) program = fuse_gradients(program);
  const Precision& row = options.precision.row;
  if (row.float8 == Float8Training::none) return program;
  return round_products_to_float8(program, row, ScaleHistory::kept);
}

Program norm_program(const Program& step) {
  Builder b;
  b.in_phase(Phase::optimizer);
  b.at("optimizer", Role::optimizer);
  std::vector<ValueId> gradients;
  for (const Value& value : step.values) {
    if (!is_gradient(value)) continue;
    gradients.push_back(b.state(value.name, value.dtype, value.shape));
  }
  b.output("norms", b.add(op::l2_norm, gradients));
  return b.take();
}

/// Parameters that are updated alike.
struct UpdateGroup {
  double rate = 0;
  double weight_decay = 0;
  StateLayout states;
  std::vector<const Value*> parameters;

  bool is_alike(const UpdateGroup& other) const {
    return rate == other.rate && weight_decay == other.weight_decay && states == other.states;
  }
};

double rate_of(const ParameterUse& use, const OptimizerOptions& options) {
  const auto found = std::ranges::find(options.groups.rates, use.role, &RoleRate::role);
  return found == options.groups.rates.end() ? options.learning_rate : found->rate;
}

double weight_decay_of(const ParameterUse& use, const OptimizerOptions& options) {
  const std::vector<ParameterKind>& none = options.groups.no_decay;
  return std::ranges::find_first_of(use.kinds, none) == use.kinds.end() ? options.weight_decay : 0;
}

void refuse_role_without_parameters(const std::map<std::string, ParameterUse>& uses, const OptimizerOptions& options) {
  for (const RoleRate& one : options.groups.rates) {
    const auto is_there = [&](const auto& use) { return use.second.role == one.role; };
    if (std::ranges::none_of(uses, is_there))
      fail_user("--lr-by-role '{}': this model has no parameters of that role{}", name(one.role),
                one.role == Role::head ? "; its head has the embedding's table" : "");
  }
}

/// The group that a parameter would be alone.
UpdateGroup group_of(const Value& value, const ParameterUse& use, const TrainingOptions& options) {
  const std::int64_t elements = element_count(concrete(value.shape, {}));
  return {rate_of(use, options.optimizer),
          weight_decay_of(use, options.optimizer),
          state_layout(*options.storage.states, value.dtype, elements, use.kinds),
          {}};
}

/// In the order of their first parameters; without options.groups all of one layout are one.
std::vector<UpdateGroup> update_groups(const Program& step, const ModelConfig& config, const TrainingOptions& options) {
  const std::map<std::string, ParameterUse> uses = parameter_uses(build_program(config, {}));
  refuse_role_without_parameters(uses, options.optimizer);
  std::vector<UpdateGroup> groups;
  for (const Value& value : step.values) {
    if (!is_parameter(value)) continue;
    const auto use = uses.find(value.name);
    const UpdateGroup own = group_of(value, use == uses.end() ? ParameterUse{} : use->second, options);
    auto group = std::ranges::find_if(groups, [&](const UpdateGroup& one) { return one.is_alike(own); });
    if (group == groups.end()) group = groups.insert(groups.end(), own);
    group->parameters.push_back(&value);
  }
  return groups;
}

Attributes optimizer_attributes(const OptimizerOptions& options) {
  Attributes attributes;
  attributes.beta1 = options.beta1;
  attributes.beta2 = options.beta2;
  attributes.epsilon = options.epsilon;
  attributes.adamw = options.variant;
  attributes.rounding = options.rounding;
  return attributes;
}

/// A parameter as the step program has it, and its gradient there.
struct Updated {
  const Value& parameter;
  DType gradient;
  StateLayout states;
};

void append_operands(Builder& b, const Updated& one, const OptimizerOptions& options, Node& update) {
  const bool adam = options.kind == OptimizerKind::adamw;
  const auto state = [&](const char* prefix, DType dtype, const SymbolicShape& shape) {
    return b.state(prefix + one.parameter.name, dtype, shape);
  };
  const SymbolicShape& shape = one.parameter.shape;
  const auto written = [&](ValueId id) {
    update.inputs.push_back(id);
    update.outputs.push_back(id);
  };
  written(state("", one.parameter.dtype, shape));
  update.inputs.push_back(state("grad.", one.gradient, shape));
  written(adam || options.beta1 > 0 ? state("optimizer.m.", one.states.dtype, shape) : no_value);
  if (!adam) return;
  written(state("optimizer.v.", one.states.dtype, shape));
  if (one.states.block == 0) return;
  const std::int64_t elements = element_count(concrete(shape, {}));
  const SymbolicShape blocks = {dim((elements + one.states.block - 1) / one.states.block)};
  written(state("optimizer.m_scale.", DType::f32, blocks));
  written(state("optimizer.v_scale.", DType::f32, blocks));
}

/// Of the gradients that the step writes, by their names.
std::map<std::string, DType> gradient_dtypes(const Program& step) {
  std::map<std::string, DType> dtypes;
  for (const Value& value : step.values) {
    if (is_gradient(value)) dtypes[value.name] = value.dtype;
  }
  return dtypes;
}

const Operation& operation_of(const UpdateGroup& group, const OptimizerOptions& options) {
  if (options.kind == OptimizerKind::sgd) return op::sgd;
  return group.states.block > 0 ? op::block_adamw : op::adamw;
}

/// Parameter k draws its random numbers from stream k, counted over the groups one after another.
Program update_program(const Program& step, const std::vector<UpdateGroup>& groups, const TrainingOptions& options) {
  const std::map<std::string, DType> gradients = gradient_dtypes(step);
  Builder b;
  const ValueId seed = b.input("seed", DType::s32, {dim(2)});
  Attributes attributes = optimizer_attributes(options.optimizer);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const UpdateGroup& group = groups[g];
    const auto parameters = std::ssize(group.parameters);
    attributes.weight_decay = group.weight_decay;
    attributes.state_rounding = group.states.rounding;
    attributes.width = group.states.block;
    Node update{
        &operation_of(group, options.optimizer), {}, {}, attributes, "optimizer", Role::optimizer, Phase::optimizer};
    for (const Value* value : group.parameters) {
      const auto gradient = gradients.find(std::string(gradient_prefix) + value->name);
      const DType dtype = gradient == gradients.end() ? value->dtype : gradient->second;
      append_operands(b, {*value, dtype, group.states}, options.optimizer, update);
    }
    update.inputs.insert(update.inputs.end(), {b.input(hyper_name(g), DType::f32, {dim(4)}), seed});
    if (options.count_lost_updates) {
      update.outputs.push_back(b.value(lost_name(g), DType::s32, {dim(parameters)}));
      b.output(lost_name(g), update.outputs.back());
    }
    b.add_update(std::move(update));
    attributes.stream += parameters;
  }
  return b.take();
}

}  // namespace

std::string hyper_name(std::size_t group) {
  return fmt::format("hyper.{}", group);
}

std::string lost_name(std::size_t group) {
  return fmt::format("lost.{}", group);
}

bool scales_loss(const Precision& row) {
  return row.operand == DType::f16 && row.master_weights;
}

bool takes_norms(const TrainingOptions& options) {
  return options.norms == GradientNorms::always || options.optimizer.clip_norm > 0 ||
         scales_loss(options.precision.row);
}

bool is_scale_history(const Value& value) {
  return value.source == Source::state && value.name.starts_with(scale_history_prefix);
}

bool is_gradient(const Value& value) {
  return value.source == Source::state && value.name.starts_with(gradient_prefix);
}

bool is_parameter(const Value& value) {
  return value.source == Source::state && !is_gradient(value) && !value.name.starts_with(optimizer_prefix);
}

TrainingPrograms training_programs(const ModelConfig& config, const TrainingOptions& options) {
  check(config, options);
  TrainingPrograms programs;
  programs.step = step_program(config, options);
  if (options.parts != StepParts::whole) return programs;
  if (takes_norms(options)) programs.norms = norm_program(programs.step);
  const std::vector<UpdateGroup> groups = update_groups(programs.step, config, options);
  for (const UpdateGroup& group : groups) programs.rates.push_back(group.rate);
  programs.update = update_program(programs.step, groups, options);
  return programs;
}

}  // namespace assay
