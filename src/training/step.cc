#include "training/step.h"

#include <cmath>
#include <iterator>

#include "base/error.h"
#include "base/random.h"
#include "training/data.h"

namespace assay {
namespace {

std::uint64_t step_seed(std::uint64_t seed, std::int64_t step) {
  const auto bits = philox(seed, static_cast<std::uint64_t>(step), 0);
  return static_cast<std::uint64_t>(bits[1]) << 32 | bits[0];
}

/// What each rank says of a step.
struct RankStep {
  double loss = 0;  ///< Its rows' part of the step's.
  bool interrupted = false;
};

/// This rank's parts in which labels count.
std::vector<TrainingBatch> own_parts(const TrainingBatch& batch, const StepOptions& options) {
  const int ranks = options.group == nullptr ? 1 : options.group->size();
  std::vector<TrainingBatch> all = split(batch, options.parts * ranks);
  const EqualPart own =
      options.group == nullptr ? EqualPart{0, std::ssize(all)} : part_of(std::ssize(all), options.group->rank(), ranks);
  std::vector<TrainingBatch> parts(std::make_move_iterator(all.begin() + own.begin),
                                   std::make_move_iterator(all.begin() + own.end));
  std::erase_if(parts, [](const TrainingBatch& part) { return counted_labels(part) == 0; });
  return parts;
}

/// Forward and backward of the parts; the loss that they add to the step's.
double run_parts(Trainer& trainer, const std::vector<TrainingBatch>& parts, std::int64_t counted, std::uint64_t seed,
                 const StepOptions& options) {
  double loss = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const double share = static_cast<double>(counted_labels(parts[i])) / static_cast<double>(counted);
    trainer.set_batch(parts[i]);
    trainer.set_seed(seed);
    loss += share * trainer.forward();
    // What others sum with theirs is to come from each; the step is left out all the same.
    if (!std::isfinite(loss) && options.group == nullptr) break;
    trainer.backward(share, i + 1 == parts.size() ? StepEnd::yes : StepEnd::no);
  }
  return loss;
}

}  // namespace

StepResult run_step(Trainer& trainer, const TrainingBatch& batch, std::int64_t step, const StepOptions& options) {
  const std::int64_t counted = counted_labels(batch);
  if (counted == 0) fail_user("step {}: no label of its batch counts", step + 1);
  const std::vector<TrainingBatch> parts = own_parts(batch, options);
  const std::uint64_t seed = step_seed(options.seed, step);
  if (options.parts > 1) trainer.clear_gradients();
  StepResult result;
  result.loss = run_parts(trainer, parts, counted, seed, options);
  if (options.group != nullptr) {
    if (parts.empty()) trainer.give_nothing(seed);
    double loss = 0;
    for (const RankStep& one : all_gather_values(*options.group, RankStep{result.loss, is_set(options.interrupted)})) {
      loss += one.loss;
      result.interrupted = result.interrupted || one.interrupted;
    }
    result.loss = loss;
  }
  result.update = std::isfinite(result.loss) ? trainer.update(step) : trainer.leave_out(step);
  return result;
}

}  // namespace assay
