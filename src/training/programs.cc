#include "training/programs.h"

#include "base/error.h"
#include "model/families.h"
#include "program/builder.h"

namespace assay {
namespace {

constexpr std::string_view gradient_prefix = "grad.";

void check(const ModelConfig& config, const TrainingOptions& options) {
  const Precision& row = options.precision.row;
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
  program = differentiate(program, {.recompute = options.recompute, .gradients = options.gradients});
  return options.fusion == Fusion::on ? fuse_gradients(program) : program;
}

Program norm_program(const Program& step) {
  Builder b;
  b.in_phase(Phase::optimizer);
  b.at("optimizer", Role::optimizer);
  std::vector<ValueId> gradients;
  for (const Value& value : step.values) {
    if (value.source != Source::state || is_parameter(value)) continue;
    gradients.push_back(b.state(value.name, value.dtype, value.shape));
  }
  b.output("norms", b.add(op::l2_norm, gradients));
  return b.take();
}

Attributes optimizer_attributes(const OptimizerOptions& options) {
  Attributes attributes;
  attributes.beta1 = options.beta1;
  attributes.beta2 = options.beta2;
  attributes.epsilon = options.epsilon;
  attributes.weight_decay = options.weight_decay;
  attributes.adamw = options.variant;
  attributes.rounding = options.rounding;
  return attributes;
}

/// Moments have the parameter's dtype, as PyTorch's have. Parameter k draws its random numbers from stream k.
Program update_program(const Program& step, const TrainingOptions& options) {
  const bool adam = options.optimizer.kind == OptimizerKind::adamw;
  const bool momentum = adam || options.optimizer.beta1 > 0;
  Builder b;
  const ValueId hyper = b.input("hyper", DType::f32, {dim(4)});
  const ValueId seed = b.input("seed", DType::s32, {dim(2)});
  Node update{adam ? &op::adamw : &op::sgd,
              {},
              {},
              optimizer_attributes(options.optimizer),
              "optimizer",
              Role::optimizer,
              Phase::optimizer};
  std::int64_t parameters = 0;
  for (const Value& value : step.values) {
    if (!is_parameter(value)) continue;
    ++parameters;
    const auto state = [&](const std::string& prefix) {
      return b.state(prefix + value.name, value.dtype, value.shape);
    };
    const ValueId w = state("");
    const ValueId m = momentum ? state("optimizer.m.") : no_value;
    update.inputs.insert(update.inputs.end(), {w, state("grad."), m});
    update.outputs.insert(update.outputs.end(), {w, m});
    if (!adam) continue;
    update.inputs.push_back(state("optimizer.v."));
    update.outputs.push_back(update.inputs.back());
  }
  update.inputs.insert(update.inputs.end(), {hyper, seed});
  if (options.count_lost_updates) {
    update.outputs.push_back(b.value("lost", DType::s32, {dim(parameters)}));
    b.output("lost", update.outputs.back());
  }
  b.add_update(std::move(update));
  return b.take();
}

}  // namespace

bool scales_loss(const Precision& row) {
  return row.operand == DType::f16 && row.master_weights;
}

bool takes_norms(const TrainingOptions& options) {
  return options.norms == GradientNorms::always || options.optimizer.clip_norm > 0 ||
         scales_loss(options.precision.row);
}

bool is_parameter(const Value& value) {
  return value.source == Source::state && !value.name.starts_with(gradient_prefix);
}

TrainingPrograms training_programs(const ModelConfig& config, const TrainingOptions& options) {
  check(config, options);
  TrainingPrograms programs;
  programs.step = step_program(config, options);
  if (options.parts != StepParts::whole) return programs;
  if (takes_norms(options)) programs.norms = norm_program(programs.step);
  programs.update = update_program(programs.step, options);
  return programs;
}

}  // namespace assay
