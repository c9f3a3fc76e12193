#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/architecture.h"
#include "program/passes.h"
#include "runtime/layout.h"
#include "tensor/precision.h"
#include "training/optimizer.h"
#include "training/state_format.h"

namespace assay {

/// When the norm of the gradients is taken: it reads all of them once more, a fifth of what an update takes.
enum class GradientNorms : std::uint8_t {
  where_needed,  ///< By clipping, and by a dynamic loss scale, which has to know whether they are finite.
  always
};

/// How far a step goes: what is not asked for is neither computed nor held.
enum class StepParts : std::uint8_t { forward, forward_backward, whole };

struct TrainingOptions {
  PrecisionChoice precision;
  StepParts parts = StepParts::whole;
  Fusion fusion = Fusion::on;
  Graphs graphs = Graphs::on;
  Recompute recompute = Recompute::none;
  Gradients gradients = Gradients::written;
  double dropout = 0;
  TokenTypes token_types = TokenTypes::zero;
  OptimizerOptions optimizer;
  TrainingStorage storage;
  GradientNorms norms = GradientNorms::where_needed;
  bool count_lost_updates = false;
};

/// A training step as three Programs over one state.
struct TrainingPrograms {
  /// Parameters as state by their names; inputs as build_program's with Objective::cross_entropy, and loss_scale f32
  /// (1); outputs loss, logits, grad.<parameter>.
  Program step;
  /// Output norms, f32 (parameters): the norm of each one's gradient, in the order of step.values. Empty where no norms
  /// are taken.
  Program norms;
  /// A node for each group of parameters. Inputs hyper.<group> f32 (4) and seed s32 (2) as op::adamw has them; writes
  /// the parameters and their moments, optimizer.m.<parameter> and optimizer.v.<parameter> (of codes in blocks also
  /// optimizer.m_scale. and optimizer.v_scale.<parameter>). With count_lost_updates outputs lost.<group>, s32
  /// (parameters of the group).
  Program update;
  std::vector<double> rates;  ///< The full learning rate of each group.
};

/// Throws a user error for a precision or model in which nothing can be trained.
TrainingPrograms training_programs(const ModelConfig& config, const TrainingOptions& options);

/// Whether the precision trains with a loss scale that adapts itself: f16 products over f32 weights.
bool scales_loss(const Precision& row);
/// Whether a step with these options takes the norm of its gradients.
bool takes_norms(const TrainingOptions& options);

/// What the update program calls a group's input and output.
std::string hyper_name(std::size_t group);
std::string lost_name(std::size_t group);

/// What an optimizer and the scales of 8-bit products keep beside parameters and gradients begins so.
inline constexpr std::string_view optimizer_prefix = "optimizer.";
/// Whether it is the history of a scale (op::round_float8): "optimizer.float8.<x, w or dy>.<layer>".
inline constexpr std::string_view scale_history_prefix = "optimizer.float8.";
bool is_scale_history(const Value& value);
/// Whether the value is a parameter's gradient in a step program.
bool is_gradient(const Value& value);
/// Whether the value is a parameter of a step program: state, and neither a gradient nor the optimizer's.
bool is_parameter(const Value& value);

}  // namespace assay
