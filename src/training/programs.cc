#include "training/programs.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "base/error.h"
#include "model/families.h"
#include "model/lora.h"
#include "program/builder.h"
#include "program/float8_history.h"
#include "program/update_list.h"
#include "training/parameter_use.h"

namespace assay {
namespace {

void check_base(const ModelConfig& config, const TrainingOptions& options) {
  if (options.adapter_dropout < 0 || options.adapter_dropout >= 1)
    fail_user("--lora-dropout {}: from 0 up to 1 is possible", options.adapter_dropout);
  if (!options.base) return;
  if (config.adapters.empty())
    fail_user("--base {}: needs --lora or --lora-from; else all weights are trained", options.base->row.name);
  if (config.experts > 0)
    fail_user(
        "--base {}: nothing gives gradients through experts' weights of fewer bits yet; without --base they are "
        "frozen in the training's precision",
        options.base->row.name);
}

FrozenWeights frozen_weights(const Program& program, const ModelConfig& config, const TrainingOptions& options) {
  FrozenWeights frozen;
  if (config.adapters.empty()) return frozen;
  for (const Value& value : program.values) {
    if (value.source == Source::weight && !is_trained_beside_adapters(value.name, config))
      frozen.names.insert(value.name);
  }
  if (!options.base) return frozen;
  frozen.base = base_row(options.base->row, options.precision.row);
  frozen.formats = options.base->formats;
  return frozen;
}

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
  if (config.sinks) fail_user("models with attention sinks are not trained: nothing gives sinks their gradients");
  if (config.router_loss) {
    fail_user(
        "output_router_logits: asks for the router's loss of balance, which is not built; as false in config.json "
        "the model is trained without it");
  }
  check_base(config, options);
  if (options.dropout > 0 && config.family->dropout == Dropout::absent)
    fail_user("--dropout: {} models have none", config.family->name);
  if (options.sharding.stage == ZeroStage::gradients && options.gradients == Gradients::added)
    fail_user("--zero 2: parts of a step add to gradients that stay; --accumulate goes with --zero 1");
  if (options.dropout < 0 || options.dropout >= 1)
    fail_user("--dropout {}: from 0 up to 1 is possible", options.dropout);
}

Program step_program(const ModelConfig& config, const TrainingOptions& options) {
  ProgramOptions model;
  model.objective = Objective::cross_entropy;
  model.dropout = options.dropout;
  model.adapter_dropout = options.adapter_dropout;
  model.token_types = options.token_types;
  const Program built = build_program(config, model);
  Program program = assign_training_dtypes(built, options.precision, frozen_weights(built, config, options));
  if (options.fusion == Fusion::on) program = fuse(program, Purpose::training);
  if (options.parts != StepParts::forward) {
    program = differentiate(
        program,
        {.recompute = options.recompute, .gradients = options.gradients, .stored_as = options.storage.gradients});
    if (options.fusion == Fusion::on) program = fuse_gradients(program);
  }
  return round_products_to_float8(program, options.precision, ScaleHistory::kept);
}

/// By the name of each parameter, whether this rank updates it.
using IsOwn = std::map<std::string, bool>;

IsOwn own_parameters(const TrainingPrograms& programs, const Sharding& sharding) {
  IsOwn own;
  for (const Value& value : programs.step.values) {
    if (is_parameter(value))
      own[value.name] = programs.owners.empty() || programs.owners.at(value.name) == sharding.rank;
  }
  return own;
}

std::map<std::string, int> owners_of(const Program& step, const Sharding& sharding) {
  if (sharding.stage == ZeroStage::none || sharding.ranks == 1) return {};
  std::vector<std::string> names;
  std::vector<std::int64_t> elements;
  for (const Value& value : step.values) {
    if (!is_parameter(value)) continue;
    names.push_back(value.name);
    elements.push_back(element_count(concrete(value.shape, {})));
  }
  const std::vector<int> ranks = balanced_owners(elements, sharding.ranks);
  std::map<std::string, int> owners;
  for (std::size_t i = 0; i < names.size(); ++i) owners[names[i]] = ranks[i];
  return owners;
}

Program norm_program(const Program& step, const IsOwn& own) {
  Builder b;
  b.in_phase(Phase::optimizer);
  b.at("optimizer", Role::optimizer);
  std::vector<ValueId> gradients;
  for (const Value* value : gradients_of(step)) {
    if (own.at(value->name.substr(gradient_prefix.size())))
      gradients.push_back(b.state(value->name, value->dtype, value->shape));
  }
  if (!gradients.empty()) b.output("norms", b.add(op::l2_norm, gradients));
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
  std::map<std::string, ParameterUse> uses = parameter_uses(build_program(config, {}));
  std::erase_if(uses, [&](const auto& use) {
    return !config.adapters.empty() && !is_trained_beside_adapters(use.first, config);
  });
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
  const auto state = [&](std::string_view prefix, DType dtype, const SymbolicShape& shape) {
    return b.state(std::string(prefix) + one.parameter.name, dtype, shape);
  };
  const SymbolicShape& shape = one.parameter.shape;
  const auto written = [&](ValueId id) {
    update.inputs.push_back(id);
    update.outputs.push_back(id);
  };
  written(state("", one.parameter.dtype, shape));
  update.inputs.push_back(state(gradient_prefix, one.gradient, shape));
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

const Operation& operation_of(const StateLayout& states, const OptimizerOptions& options) {
  if (options.kind == OptimizerKind::sgd) return op::sgd;
  return states.block > 0 ? op::block_adamw : op::adamw;
}

/// Neighbours of a group that this rank updates: a node.
struct Stretch {
  std::size_t group = 0;
  double weight_decay = 0;
  StateLayout states = {};
  std::int64_t stream = 0;  ///< Of its first parameter.
  std::vector<const Value*> parameters = {};
};

/// Parameter k draws its random numbers from stream k, counted over the groups one after another, whoever updates it.
std::vector<Stretch> own_stretches(const std::vector<UpdateGroup>& groups, const IsOwn& own) {
  std::vector<Stretch> stretches;
  std::int64_t stream = 0;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    bool goes_on = false;
    for (const Value* value : groups[g].parameters) {
      const bool is_own = own.at(value->name);
      if (is_own && !goes_on) stretches.push_back({g, groups[g].weight_decay, groups[g].states, stream});
      if (is_own) stretches.back().parameters.push_back(value);
      goes_on = is_own;
      ++stream;
    }
  }
  return stretches;
}

/// The update of one stretch, all but its hyperparameters.
Node update_node(Builder& b, const Stretch& stretch, const std::map<std::string, DType>& gradients,
                 const TrainingOptions& options) {
  Attributes attributes = optimizer_attributes(options.optimizer);
  attributes.weight_decay = stretch.weight_decay;
  attributes.stream = stretch.stream;
  attributes.state_rounding = stretch.states.rounding;
  attributes.width = stretch.states.block;
  Node update{&operation_of(stretch.states, options.optimizer),
              {},
              {},
              attributes,
              "optimizer",
              Role::optimizer,
              Phase::optimizer};
  for (const Value* value : stretch.parameters) {
    const auto gradient = gradients.find(std::string(gradient_prefix) + value->name);
    const DType dtype = gradient == gradients.end() ? value->dtype : gradient->second;
    append_operands(b, {*value, dtype, stretch.states}, options.optimizer, update);
  }
  return update;
}

Program update_program(const Program& step, const std::vector<Stretch>& stretches, const TrainingOptions& options) {
  const std::map<std::string, DType> gradients = gradient_dtypes(step);
  Builder b;
  const ValueId seed = b.input("seed", DType::s32, {dim(2)});
  std::map<std::size_t, ValueId> hyper;
  for (std::size_t i = 0; i < stretches.size(); ++i) {
    const Stretch& stretch = stretches[i];
    if (hyper.count(stretch.group) == 0)
      hyper[stretch.group] = b.input(hyper_name(stretch.group), DType::f32, {dim(4)});
    Node update = update_node(b, stretch, gradients, options);
    update.inputs.insert(update.inputs.end(), {hyper.at(stretch.group), seed});
    if (options.count_lost_updates) {
      update.outputs.push_back(b.value(lost_name(i), DType::s32, {dim(std::ssize(stretch.parameters))}));
      b.output(lost_name(i), update.outputs.back());
    }
    b.add_update(std::move(update));
  }
  return b.take();
}

/// The moments of a whole training: those of other ranks' parameters too.
std::vector<NamedMoment> moments_of(const Program& step, const std::vector<UpdateGroup>& groups,
                                    const TrainingOptions& options) {
  std::vector<NamedMoment> moments;
  const IsOwn all = [&] {
    IsOwn own;
    for (const UpdateGroup& group : groups) {
      for (const Value* value : group.parameters) own[value->name] = true;
    }
    return own;
  }();
  const Program whole = update_program(step, own_stretches(groups, all), options);
  for (const Node& node : whole.nodes) {
    const UpdateList list = update_list(*node.operation, node.inputs.size());
    for (std::size_t parameter = 0; parameter < list.parameters; ++parameter) {
      const std::string& name = whole.value(node.inputs[list.input(parameter, 0)]).name;
      for (std::size_t operand = 2; operand < list.inputs_each; ++operand) {
        const ValueId id = node.inputs[list.input(parameter, operand)];
        if (id == no_value) continue;
        const Value& moment = whole.value(id);
        moments.push_back({moment.name, name, moment.dtype, concrete(moment.shape, {})});
      }
    }
  }
  return moments;
}

}  // namespace

std::string hyper_name(std::size_t group) {
  return fmt::format("hyper.{}", group);
}

std::vector<const Value*> gradients_of(const Program& step) {
  std::map<std::string_view, const Value*> by_parameter;
  for (const Value& value : step.values) {
    if (is_gradient(value)) by_parameter[std::string_view(value.name).substr(gradient_prefix.size())] = &value;
  }
  std::vector<const Value*> gradients;
  for (const Value& value : step.values) {
    const auto found = is_parameter(value) ? by_parameter.find(value.name) : by_parameter.end();
    if (found != by_parameter.end()) gradients.push_back(found->second);
  }
  return gradients;
}

std::vector<FinishedGradient> finishing_order(const Program& step) {
  std::vector<std::size_t> last(step.values.size());
  for (std::size_t node = 0; node < step.nodes.size(); ++node) {
    for (const ValueId id : step.nodes[node].outputs) {
      if (id != no_value) last[static_cast<std::size_t>(id)] = node;
    }
  }
  std::vector<FinishedGradient> order;
  for (std::size_t id = 0; id < step.values.size(); ++id) {
    if (is_gradient(step.values[id])) order.push_back({static_cast<ValueId>(id), last[id]});
  }
  std::ranges::stable_sort(order, {}, &FinishedGradient::node);
  return order;
}

int owner_of(const TrainingPrograms& programs, const std::string& parameter) {
  const auto owner = programs.owners.find(parameter);
  return owner == programs.owners.end() ? -1 : owner->second;
}

std::vector<int> balanced_owners(const std::vector<std::int64_t>& elements, int ranks) {
  std::vector<std::size_t> order(elements.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return elements[a] > elements[b]; });
  std::vector<std::int64_t> held(static_cast<std::size_t>(ranks));
  std::vector<int> owners(elements.size());
  for (const std::size_t parameter : order) {
    const auto least = std::ranges::min_element(held);
    owners[parameter] = static_cast<int>(least - held.begin());
    *least += elements[parameter];
  }
  return owners;
}

std::string lost_name(std::size_t node) {
  return fmt::format("lost.{}", node);
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
  programs.owners = owners_of(programs.step, options.sharding);
  const IsOwn own = own_parameters(programs, options.sharding);
  if (takes_norms(options)) programs.norms = norm_program(programs.step, own);
  const std::vector<UpdateGroup> groups = update_groups(programs.step, config, options);
  for (const UpdateGroup& group : groups) programs.rates.push_back(group.rate);
  programs.update = update_program(programs.step, own_stretches(groups, own), options);
  programs.moments = moments_of(programs.step, groups, options);
  return programs;
}

}  // namespace assay
