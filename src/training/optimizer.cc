#include "training/optimizer.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"

namespace assay {

double rate_share(const Schedule& schedule, std::int64_t step) {
  if (step < schedule.warmup_steps) return static_cast<double>(step + 1) / static_cast<double>(schedule.warmup_steps);
  if (schedule.shape == Schedule::Shape::constant) return 1;
  const auto length = static_cast<double>(std::max<std::int64_t>(schedule.total_steps - schedule.warmup_steps, 1));
  const double done = std::min(static_cast<double>(step - schedule.warmup_steps) / length, 1.0);
  const bool linear = schedule.shape == Schedule::Shape::linear;
  const double left = linear ? 1 - done : 0.5 * (1 + std::cos(std::numbers::pi * done));
  return schedule.final_share + (1 - schedule.final_share) * left;
}

const char* name(OptimizerKind kind) {
  return kind == OptimizerKind::adamw ? "adamw" : "sgd";
}

OptimizerKind parse_optimizer(std::string_view text) {
  if (text == "adamw") return OptimizerKind::adamw;
  if (text == "sgd") return OptimizerKind::sgd;
  fail_user("--optimizer '{}': adamw and sgd are known", text);
}

bool LossScale::accept(bool finite) {
  if (!finite) ++progress_.skipped;
  if (mode_ == Mode::fixed_at_one) return finite;
  if (!finite) {
    progress_.scale *= 0.5;
    progress_.steps_since_growth = 0;
    return false;
  }
  if (++progress_.steps_since_growth == growth_interval) {
    progress_.scale *= 2;
    progress_.steps_since_growth = 0;
  }
  return true;
}

}  // namespace assay
