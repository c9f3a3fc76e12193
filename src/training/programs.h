#pragma once

#include <cstdint>
#include <map>
#include <optional>
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

/// Which share of a training that several ranks do is this rank's to keep (ZeRO; Rajbhandari et al. 2020, section 5).
enum class ZeroStage : std::uint8_t {
  none,       ///< Every rank keeps everything.
  optimizer,  ///< Each keeps the moments of its parameters, updates those and hands them to the others.
  gradients   ///< And of gradients those of its parameters: the others lie in memory until they are summed elsewhere.
};
struct Sharding {
  ZeroStage stage = ZeroStage::none;
  int rank = 0;
  int ranks = 1;
  /// Of gradients that travel together, and so lie in memory together; absent: as ReduceOptions has it.
  std::optional<std::int64_t> bucket_bytes = std::nullopt;
};

/// How weights that are not trained are kept (`--base`).
struct FrozenBase {
  Precision row;               ///< Widens weights: int8-weights, int4-weights, stored, ...
  WeightFormats formats = {};  ///< How the checkpoint holds weights, for `stored`.
};

struct TrainingOptions {
  PrecisionChoice precision;
  std::optional<FrozenBase> base = std::nullopt;  ///< Of a model with adapters; absent: in `precision`.
  double adapter_dropout = 0;
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
  Sharding sharding;
};

/// A tensor of the optimizer's state.
struct NamedMoment {
  std::string name;  ///< "optimizer.m.<parameter>"
  std::string parameter;
  DType dtype = DType::f32;
  Shape shape;
};

/// A training step as three Programs over one state. Of a model with adapters (ModelConfig::adapters) these and the
/// head of a classifier are trained; all other weights are constants.
struct TrainingPrograms {
  /// Parameters as state by their names; inputs as build_program's with Objective::cross_entropy, and loss_scale f32
  /// (1); outputs loss, logits, grad.<parameter>.
  Program step;
  /// Output norms, f32 (parameters): the norm of each gradient, in the order of gradients_of(step); with owners, of
  /// this rank's. Empty where no norms are taken, and of a rank that owns nothing.
  Program norms;
  /// A node for each group of parameters, or for each stretch of it that is this rank's. Inputs hyper.<group> f32 (4)
  /// and seed s32 (2) as op::adamw has them (of a rank that owns nothing no node); writes the parameters and their
  /// moments, optimizer.m.<parameter> and optimizer.v.<parameter> (of codes in blocks also optimizer.m_scale. and
  /// optimizer.v_scale.<parameter>). With count_lost_updates outputs lost.<node>, s32 (parameters of the node).
  Program update;
  std::vector<double> rates;  ///< The full learning rate of each group.
  /// The rank that updates each parameter, by its name; empty where all ranks update all.
  std::map<std::string, int> owners;
  std::vector<NamedMoment> moments;  ///< Of all parameters, those that other ranks update too.
};

/// The rank that updates the parameter; -1: all.
int owner_of(const TrainingPrograms& programs, const std::string& parameter);

/// A gradient is called this and then as its parameter.
inline constexpr std::string_view gradient_prefix = "grad.";

/// Throws a user error for a precision or model in which nothing can be trained.
TrainingPrograms training_programs(const ModelConfig& config, const TrainingOptions& options);

/// Whether the precision trains with a loss scale that adapts itself: f16 products over f32 weights.
bool scales_loss(const Precision& row);
/// Whether a step with these options takes the norm of its gradients.
bool takes_norms(const TrainingOptions& options);

/// What the update program calls a group's input and a node's output.
std::string hyper_name(std::size_t group);
std::string lost_name(std::size_t node);

/// The gradients among a step's values, in the order of their parameters: the same whether they are written or added.
std::vector<const Value*> gradients_of(const Program& step);

/// A gradient, and the node of the step that writes it last.
struct FinishedGradient {
  ValueId value = no_value;
  std::size_t node = 0;
};
/// In the order in which a backward finishes them, whatever a batch's shape.
std::vector<FinishedGradient> finishing_order(const Program& step);

/// The rank of `ranks` that each of so many elements is given to, whole: the largest first, each to who has least.
std::vector<int> balanced_owners(const std::vector<std::int64_t>& elements, int ranks);

/// What an optimizer and the scales of 8-bit products keep beside parameters and gradients begins so.
inline constexpr std::string_view optimizer_prefix = "optimizer.";
/// Whether it is the history of a scale (op::round_float8).
bool is_scale_history(const Value& value);
/// Whether the value is a parameter's gradient in a step program.
bool is_gradient(const Value& value);
/// Whether the value is a parameter of a step program: state, and neither a gradient nor the optimizer's.
bool is_parameter(const Value& value);

}  // namespace assay
