#include "training/programs.h"

#include "base/error.h"
#include "program/builder.h"

namespace assay {
namespace {

constexpr std::string_view gradient_prefix = "grad.";

void check(const ModelConfig& config, const TrainingOptions& options) {
  const Precision& row = options.precision.row;
  if (!row.gradients) fail_user("{}: is a precision for inference; nothing is trained in it", row.name);
  if (config.task == Task::embedding)
    fail_user("an embedding model has no loss; give it a classification head with --labels N");
  const bool drops =
      config.family == Family::gpt2 || config.family == Family::bert || config.family == Family::distilbert;
  if (options.dropout > 0 && !drops) fail_user("--dropout: {} models have none", name(config.family));
  if (options.dropout < 0 || options.dropout >= 1)
    fail_user("--dropout {}: from 0 up to 1 is possible", options.dropout);
}

Program step_program(const ModelConfig& config, const TrainingOptions& options) {
  ProgramOptions model;
  model.objective = Objective::cross_entropy;
  model.dropout = options.dropout;
  Program program = assign_training_dtypes(build_program(config, model), options.precision);
  if (options.fusion == Fusion::on) program = fuse(program, Purpose::training);
  if (options.parts == StepParts::forward) return program;
  program = differentiate(program, {.recompute = options.recompute, .gradients = options.gradients});
  return options.fusion == Fusion::on ? fuse_gradients(program) : program;
}

Program norm_program(const Program& step) {
  Builder b;
  b.in_phase(Phase::optimizer);
  for (const Value& value : step.values) {
    if (value.source != Source::state || is_parameter(value)) continue;
    const std::string parameter = value.name.substr(gradient_prefix.size());
    b.at("optimizer." + parameter, Role::optimizer);
    b.output("norm." + parameter, b.add(op::l2_norm, {b.state(value.name, value.dtype, value.shape)}));
  }
  return b.take();
}

Attributes optimizer_attributes(const OptimizerOptions& options, std::int64_t stream) {
  Attributes attributes;
  attributes.beta1 = options.beta1;
  attributes.beta2 = options.beta2;
  attributes.epsilon = options.epsilon;
  attributes.weight_decay = options.weight_decay;
  attributes.adamw = options.variant;
  attributes.rounding = options.rounding;
  attributes.stream = stream;
  return attributes;
}

/// Moments have the parameter's dtype, as PyTorch's have.
Program update_program(const Program& step, const TrainingOptions& options) {
  const bool adam = options.optimizer.kind == OptimizerKind::adamw;
  const bool momentum = adam || options.optimizer.beta1 > 0;
  Builder b;
  const ValueId hyper = b.input("hyper", DType::f32, {dim(4)});
  const ValueId seed = b.input("seed", DType::s32, {dim(2)});
  std::int64_t stream = 0;
  for (const Value& value : step.values) {
    if (!is_parameter(value)) continue;
    const auto state = [&](const std::string& prefix) {
      return b.state(prefix + value.name, value.dtype, value.shape);
    };
    const ValueId w = state("");
    std::vector<ValueId> inputs = {w, state("grad."), momentum ? state("optimizer.m.") : no_value};
    std::vector<ValueId> outputs = {w, inputs.back()};
    if (adam) {
      inputs.push_back(state("optimizer.v."));
      outputs.push_back(inputs.back());
    }
    inputs.insert(inputs.end(), {hyper, seed});
    if (options.count_lost_updates) {
      outputs.push_back(b.value("lost." + value.name, DType::s32, {dim(1)}));
      b.output("lost." + value.name, outputs.back());
    }
    b.add_update({adam ? &op::adamw : &op::sgd, inputs, outputs, optimizer_attributes(options.optimizer, stream++),
                  "optimizer." + value.name, Role::optimizer, Phase::optimizer});
  }
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
