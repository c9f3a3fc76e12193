#pragma once

#include <string>
#include <vector>

#include "model/architecture.h"
#include "program/passes.h"
#include "tensor/precision.h"
#include "training/optimizer.h"

namespace assay {

/// How far a step goes: what is not asked for is neither computed nor held.
enum class StepParts : std::uint8_t { forward, forward_backward, whole };

struct TrainingOptions {
  PrecisionChoice precision;
  StepParts parts = StepParts::whole;
  Fusion fusion = Fusion::on;
  Recompute recompute = Recompute::none;
  Gradients gradients = Gradients::written;
  double dropout = 0;
  OptimizerOptions optimizer;
  bool count_lost_updates = false;
};

/// A training step as three Programs over one state.
struct TrainingPrograms {
  /// Parameters as state by their names; inputs as build_program's with Objective::cross_entropy, and loss_scale f32
  /// (1); outputs loss, logits, grad.<parameter>.
  Program step;
  /// Outputs norm.<parameter>, f32 (1): the norm of its gradient.
  Program norms;
  /// Inputs hyper f32 (4) and seed s32 (2) as op::adamw has them; writes the parameters and their moments. With
  /// count_lost_updates outputs lost.<parameter>, s32 (1).
  Program update;
};

/// Throws a user error for a precision or model in which nothing can be trained.
TrainingPrograms training_programs(const ModelConfig& config, const TrainingOptions& options);

/// Whether the value is a parameter of a step program: state, and no gradient.
bool is_parameter(const Value& value);

}  // namespace assay
