#include "studies/rank_benchmark/alone.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string_view>

#include "base/random.h"
#include "studies/shared/training_step.h"

namespace assay {
namespace {

std::int64_t left_of(std::int64_t available_bytes, std::int64_t taken) {
  return available_bytes > 0 ? std::max<std::int64_t>(available_bytes - taken, 1) : 0;
}

}  // namespace

TrainingOptions rank_step_options(const RankCase& one, const Sharding& sharding) {
  TrainingOptions options;
  options.precision = choose_precision(one.precision, one.request.steps.overrides, native_16bit(one.facts));
  apply(one.request.step, one.model.weights.formats(), options);
  options.sharding = sharding;
  return options;
}

AloneSteps::AloneSteps(const RankCase& one, const TrainingBatch& part, const TrainingBatch& whole,
                       std::int64_t available_bytes)
    : neighbours_(one.neighbours),
      part_(part),
      whole_(whole),
      facts_(one.facts),
      order_(one.request.steps.model_options.seed, 0x7d) {
  facts_.available_bytes = available_bytes;
  const Backend& backend = find_backend(one.request.steps.device);
  alone_.emplace(one.model.config, one.model.weights, rank_step_options(one, {}), backend, facts_);
  std::int64_t taken = alone_->state().bytes();
  for (const TrainingBatch* batch : {&part_, &whole_}) {
    alone_->set_batch(*batch);  // Plans of both are kept.
    taken += alone_->step_plan()->peak_bytes();
  }
  const bool is_host = std::string_view(backend.device) == "cpu";
  if (is_host && neighbours_.threads > facts_.threads) make_one_process(one, left_of(available_bytes, taken));
}

void AloneSteps::make_one_process(const RankCase& one, std::int64_t available_bytes) {
  facts_of_all_ = facts_;
  facts_of_all_.threads = neighbours_.threads;
  facts_of_all_.available_bytes = available_bytes;
  const AllThreads all(neighbours_, facts_.threads);
  const auto hindrance = hindrance_of([&] {
    one_process_.emplace(one.model.config, one.model.weights, rank_step_options(one, {}),
                         find_backend(one.request.steps.device), facts_of_all_);
    one_process_->set_batch(whole_);
  });
  if (!hindrance) return;
  one_process_.reset();
  words_ = fmt::format("{} {}: not held against one process with {} threads: {}", one.precision, one.format.name,
                       neighbours_.threads, hindrance->reason);
}

AloneRound AloneSteps::time(std::int64_t step) {
  AloneRound round;
  const auto part = [&] {
    alone_->set_batch(part_);
    round.part_ms = timed_step(*alone_, 1, step).step_s * 1e3;
  };
  const auto whole = [&] {
    alone_->set_batch(whole_);
    round.whole_ms = timed_step(*alone_, 1, step).step_s * 1e3;
  };
  const auto one_process = [&] {
    if (!one_process_) return;
    const AllThreads all(neighbours_, facts_.threads);
    round.one_process_ms = timed_step(*one_process_, 1, step).step_s * 1e3;
  };
  std::vector<std::function<void()>> ways = {part, whole, one_process};
  for (std::size_t i = ways.size(); i > 1; --i) std::swap(ways[i - 1], ways[order_.below(i)]);
  for (const auto& way : ways) way();
  return round;
}

}  // namespace assay
