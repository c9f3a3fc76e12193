#include "training/step.h"

#include <cmath>

#include "base/error.h"
#include "base/random.h"
#include "training/data.h"

namespace assay {
namespace {

std::uint64_t step_seed(std::uint64_t seed, std::int64_t step) {
  const auto bits = philox(seed, static_cast<std::uint64_t>(step), 0);
  return static_cast<std::uint64_t>(bits[1]) << 32 | bits[0];
}

}  // namespace

StepResult run_step(Trainer& trainer, const TrainingBatch& batch, std::int64_t step, const StepOptions& options) {
  const std::int64_t counted = counted_labels(batch);
  if (counted == 0) fail_user("step {}: no label of its batch counts", step);
  StepResult result;
  if (options.parts > 1) trainer.clear_gradients();
  const std::uint64_t seed = step_seed(options.seed, step);
  for (const TrainingBatch& rows : split(batch, options.parts)) {
    const double share = static_cast<double>(counted_labels(rows)) / static_cast<double>(counted);
    if (share == 0) continue;
    trainer.set_batch(rows);
    trainer.set_seed(seed);
    result.loss += share * trainer.forward();
    if (!std::isfinite(result.loss)) break;
    trainer.backward(share);
  }
  result.update = std::isfinite(result.loss) ? trainer.update(step) : trainer.leave_out(step);
  return result;
}

}  // namespace assay
