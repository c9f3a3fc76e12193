#include "experiments/train_cell.h"

#include <sys/resource.h>

#include <algorithm>
#include <numeric>

#include "base/clock.h"
#include "base/error.h"
#include "base/random.h"
#include "base/units.h"

namespace assay {
namespace {

TrainingOptions training_options(const TrainCell& cell, const std::string& precision, Fusion fusion) {
  const TrainBenchmarkRequest& request = cell.request;
  TrainingOptions options;
  options.precision = choose_precision(precision, request.overrides, native_16bit(cell.facts));
  options.parts = request.parts;
  options.fusion = fusion;
  options.recompute = request.recompute;
  options.optimizer = request.optimizer;
  return options;
}

std::int64_t predicted_bytes(const TrainingPrograms& programs, Extent extent) {
  return state_bytes(programs) + lay_out(programs.step, {.extent = extent, .outputs = {"loss"}}).bytes;
}

void predict(const TrainCell& cell, Variant& variant) {
  const TrainingPrograms programs = training_programs(cell.model.config, variant.options);
  variant.needed_bytes = predicted_bytes(programs, cell.extent);
  const std::int64_t available = cell.facts.available_bytes;
  if (available <= 0 || variant.needed_bytes <= available) return;
  variant.status = Status::oom;
  variant.reason = fmt::format("needs {}, {} are available", format_bytes(static_cast<double>(variant.needed_bytes)),
                               format_bytes(static_cast<double>(available)));
}

/// Random tokens: what is timed does not depend on them.
TrainingBatch random_batch(const TrainCell& cell) {
  Random random(cell.request.model_options.seed, 0x7a);
  TrainingBatch batch;
  batch.extent = cell.extent;
  const std::int64_t count = cell.extent.batch * cell.extent.seq;
  for (std::int64_t i = 0; i < count; ++i)
    batch.input_ids.push_back(
        static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(cell.model.config.vocab_size))));
  if (cell.model.config.task == Task::language_model) {
    batch.labels = shifted_labels(batch.input_ids, batch.extent);
  } else {
    for (std::int64_t i = 0; i < cell.extent.batch; ++i)
      batch.labels.push_back(
          static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(cell.model.config.labels))));
  }
  return batch;
}

double faults_so_far() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_minflt + usage.ru_majflt);
}

double ms_between(double begin_s, double end_s) {
  return (end_s - begin_s) * 1e3;
}

void run_step(Variant& variant) {
  StepTimes& times = variant.times;
  const double faults = faults_so_far();
  const double begin = now_s();
  variant.trainer->forward();
  const double forward = now_s();
  if (variant.options.parts != StepParts::forward) variant.trainer->backward();
  const double backward = now_s();
  if (variant.options.parts == StepParts::whole)
    variant.trainer->update(static_cast<std::int64_t>(times.step_ms.size()));
  const double end = now_s();
  times.forward_ms.push_back(ms_between(begin, forward));
  if (variant.options.parts != StepParts::forward) times.backward_ms.push_back(ms_between(forward, backward));
  if (variant.options.parts == StepParts::whole) times.optimizer_ms.push_back(ms_between(backward, end));
  times.step_ms.push_back(ms_between(begin, end));
  times.page_faults.push_back(faults_so_far() - faults);
}

void prepare(const TrainCell& cell, Variant& variant) {
  const double begin = now_s();
  try {
    variant.trainer = std::make_unique<Trainer>(cell.model.config, cell.model.weights, variant.options,
                                                find_backend(cell.request.device), cell.facts);
    variant.trainer->set_batch(random_batch(cell));
  } catch (const OutOfMemory& error) {
    variant.status = Status::oom;
    variant.reason = error.what();
    variant.trainer.reset();
  }
  variant.times.prepare_ms = ms_between(begin, now_s());
}

std::int64_t most_warmup(const TrainBenchmarkRequest& request) {
  return *std::max_element(request.warmups.begin(), request.warmups.end());
}

/// The first step tells what the others will take.
void refuse_what_is_slow(const TrainCell& cell, Variant& variant) {
  const auto count = static_cast<double>(most_warmup(cell.request) + cell.request.steps);
  const double expected_s = variant.times.step_ms.front() * 1e-3 * count;
  if (expected_s <= cell.request.seconds) return;
  variant.status = Status::too_slow;
  variant.reason = fmt::format("{:.0f} steps would take {:.0f} s, allowed are {:.0f} (--seconds)", count, expected_s,
                               cell.request.seconds);
  variant.trainer.reset();
}

bool is_interrupted(const TrainCell& cell) {
  return cell.callbacks.interrupted != nullptr && *cell.callbacks.interrupted;
}

/// Steps of all `together`, one of each a round, in a new random order.
void run_rounds(const TrainCell& cell, std::vector<Variant*> together) {
  Random random(cell.request.model_options.seed, 0x7b);
  const std::int64_t rounds = most_warmup(cell.request) + cell.request.steps;
  for (std::int64_t round = 0; round < rounds; ++round) {
    for (std::size_t i = together.size(); i > 1; --i) std::swap(together[i - 1], together[random.below(i)]);
    double round_s = 0;
    for (Variant* variant : together) {
      if (variant->trainer == nullptr || is_interrupted(cell)) continue;
      run_step(*variant);
      if (round == 0) refuse_what_is_slow(cell, *variant);
      round_s += variant->times.step_ms.back() * 1e-3;
    }
    if (cell.callbacks.progress) {
      cell.callbacks.progress(fmt::format("{} {} x {}", cell.model.name, cell.extent.batch, cell.extent.seq),
                              round_s * static_cast<double>(rounds - round - 1));
    }
  }
  for (Variant* variant : together) {
    if (is_interrupted(cell) && variant->status == Status::ok) variant->status = Status::interrupted;
    if (variant->status == Status::interrupted) variant->reason = "interrupted";
  }
}

}  // namespace

std::vector<Variant> make_variants(const TrainCell& cell) {
  std::vector<Variant> variants;
  for (const std::string& precision : cell.request.precisions) {
    for (const Fusion fusion : cell.request.fusions) {
      Variant& variant = variants.emplace_back();
      variant.precision = precision;
      variant.fusion = fusion;
      variant.options = training_options(cell, precision, fusion);
      if (variant.options.precision.row.cuda_only && cell.request.device != "cuda") {
        variant.status = Status::unsupported;
        variant.reason = fmt::format("{} exists on CUDA devices only", precision);
      } else if (!variant.options.precision.row.gradients) {
        variant.status = Status::unsupported;
        variant.reason = fmt::format("{} is a precision for inference", precision);
      } else {
        predict(cell, variant);
      }
    }
  }
  return variants;
}

void run_cell(TrainCell& cell) {
  std::vector<Variant*> all;
  std::int64_t together_bytes = 0;
  for (Variant& variant : cell.variants) {
    if (variant.status != Status::ok) continue;
    all.push_back(&variant);
    together_bytes += variant.needed_bytes;
  }
  const bool fit = cell.facts.available_bytes <= 0 || together_bytes <= cell.facts.available_bytes;
  for (std::size_t first = 0; first < all.size(); first += fit ? all.size() : 1) {
    const std::size_t end = fit ? all.size() : first + 1;
    const std::vector<Variant*> group(all.begin() + static_cast<std::ptrdiff_t>(first),
                                      all.begin() + static_cast<std::ptrdiff_t>(end));
    for (Variant* variant : group) prepare(cell, *variant);
    run_rounds(cell, group);
    if (!fit) group.front()->trainer.reset();
  }
}

}  // namespace assay
