#pragma once

#include <cstdint>
#include <string_view>

#include "program/program.h"
#include "tensor/parameter_groups.h"

namespace assay {

enum class OptimizerKind : std::uint8_t { adamw, sgd };

/// How the learning rate moves: a linear warm-up from 0, then the shape, down to `final_share` of the rate.
struct Schedule {
  enum class Shape : std::uint8_t { constant, linear, cosine } shape = Shape::constant;
  std::int64_t warmup_steps = 0;
  std::int64_t total_steps = 0;  ///< Linear and cosine: when the end is reached.
  double final_share = 0;
};
/// Share of the full learning rate at update `step` (0, 1, ...). The first step of a warm-up over w steps has 1 / w: an
/// update with rate 0 would be wasted.
double rate_share(const Schedule& schedule, std::int64_t step);

struct OptimizerOptions {
  OptimizerKind kind = OptimizerKind::adamw;
  double learning_rate = 1e-3;
  double beta1 = 0.9;  ///< sgd: momentum
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0.01;  ///< Of every parameter that no group leaves out.
  AdamW variant = AdamW::pytorch;
  Rounding rounding = Rounding::nearest;
  double clip_norm = 0;  ///< The gradient's norm is scaled down to it; 0: never.
  Schedule schedule;     ///< Of the learning rates of groups, too.
  ParameterGroups groups;
};

const char* name(OptimizerKind kind);
/// Throws a user error for any other word than adamw and sgd.
OptimizerKind parse_optimizer(std::string_view text);

/// Dynamic loss scaling (Micikevicius et al. 2018), with the constants of PyTorch's GradScaler.
class LossScale {
 public:
  enum class Mode : std::uint8_t { fixed_at_one, dynamic };
  /// Finite steps in a row after which a dynamic scale is doubled.
  static constexpr std::int64_t growth_interval = 2000;
  /// What has to be kept to go on later.
  struct Progress {
    double scale = 65536;
    std::int64_t steps_since_growth = 0;
    std::int64_t skipped = 0;
  };

  explicit LossScale(Mode mode) : mode_(mode) {}

  bool is_dynamic() const { return mode_ == Mode::dynamic; }
  double scale() const { return mode_ == Mode::dynamic ? progress_.scale : 1; }
  const Progress& progress() const { return progress_; }
  void restore(const Progress& progress) { progress_ = progress; }
  /// After a step's loss and gradients are known to be finite or not: the update of a step that is not is skipped, and
  /// a dynamic scale is halved. Returns whether the update is to be done.
  bool accept(bool finite);

 private:
  Mode mode_;
  Progress progress_;
};

}  // namespace assay
