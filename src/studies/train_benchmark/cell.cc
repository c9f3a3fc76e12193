#include "studies/train_benchmark/cell.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/clock.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "base/random.h"
#include "base/units.h"
#include "results/model_name.h"
#include "runtime/non_finite.h"
#include "studies/peers/timed_engine.h"
#include "studies/shared/hindrance.h"
#include "studies/shared/training_step.h"
#include "studies/train_benchmark/pace.h"
#include "training/data.h"

namespace assay {
namespace {

TrainingOptions training_options(const TrainCell& cell, const std::string& precision, Fusion fusion,
                                 const StepVariant& step) {
  const TrainBenchmarkRequest& request = cell.request;
  TrainingOptions options;
  options.precision = choose_precision(precision, request.overrides, native_16bit(cell.facts));
  options.parts = request.parts;
  options.fusion = fusion;
  options.graphs = request.graphs;
  apply(step, cell.model.weights.formats(), options);
  return options;
}

/// State, what is frozen, and the arena.
std::int64_t predicted_bytes(const TrainCell& cell, const Variant& variant, const TrainingPrograms& programs) {
  Extent extent = cell.extent;
  extent.batch = largest_part(extent.batch, variant.step.accumulate);
  const Instance frozen(programs.step, variant.options.precision, cell.model.weights, find_backend(cell.request.device),
                        cell.facts, MasterWeights::dropped);
  return state_bytes(programs) + frozen.missing_bytes(extent) +
         lay_out(programs.step, {.extent = extent, .outputs = {"loss"}}).bytes;
}

void predict(const TrainCell& cell, Variant& variant) {
  const TrainingPrograms programs = training_programs(cell.model.config, variant.options);
  variant.needed_bytes = predicted_bytes(cell, variant, programs);
  const std::int64_t available = cell.facts.available_bytes;
  if (available <= 0 || variant.needed_bytes <= available) return;
  variant.status = Status::oom;
  variant.reason = fmt::format("needs {}, {} are available", format_bytes(static_cast<double>(variant.needed_bytes)),
                               format_bytes(static_cast<double>(available)));
}

/// A meter that stops answering ends the metering of all variants; times stay good.
StepReading read(const TrainCell& cell) {
  StepReading reading{.at_s = now_s()};
  EnergySource& source = cell.power.source;
  reading.ready_s = reading.at_s;
  if (!source.meter) return reading;
  try {
    reading.joules = source.meter->read_j();
    reading.missed_j = source.meter->missed_j();
  } catch (const Error& error) {
    cell.power = {.source = {nullptr, error.what()}};
  }
  reading.ready_s = now_s();
  return reading;
}

/// Of a phase that is left out: it ends where it begins.
StepReading ended_at_once(StepReading begin) {
  begin.at_s = begin.ready_s;
  return begin;
}

/// Of the GPU where one works, else of the processors.
void read_conditions(const TrainCell& cell, StepSample& sample) {
  if (!cell.gpu) {
    sample.frequency_mhz = read_frequency_mhz(cell.request.root);
    sample.temperature_c = read_temperature_c(cell.request.root);
    return;
  }
  const GpuConditions now = cell.gpu();
  sample.throttle_reasons |= now.throttle_reasons;
  sample.frequency_mhz = now.clock_mhz;
  sample.temperature_c = now.temperature_c;
}

/// What of a step went into its backward passes, and into reading the meter behind them and behind the forwards.
struct PartSums {
  double backward_s = 0;
  double backward_j = 0;
  double backward_missed_j = 0;
  double reading_s = 0;
  double forward_reading_s = 0;

  void add_backward(const StepReading& begin, const StepReading& end) {
    backward_s += end.at_s - begin.ready_s;
    backward_j += end.joules - begin.joules;
    backward_missed_j += end.missed_j - begin.missed_j;
    reading_s += end.ready_s - end.at_s;
  }
};

/// Forward and backward of every part. Where there are several their phases alternate: the readings are set as if all
/// forwards had come first; handing over a part counts as forward.
void time_parts(const TrainCell& cell, Variant& variant, StepSample& sample, double& loss) {
  const bool goes_back = variant.options.parts != StepParts::forward;
  const double share = 1.0 / static_cast<double>(variant.parts.size());
  PartSums sums;
  StepReading last = sample.readings[0];
  if (variant.parts.size() > 1 && goes_back) variant.trainer->clear_gradients();
  for (const TrainingBatch& part : variant.parts) {
    if (variant.parts.size() > 1) variant.trainer->set_batch(part);
    loss += share * variant.trainer->forward();
    last = read(cell);
    sums.forward_reading_s += last.ready_s - last.at_s;
    if (!goes_back) continue;
    const StepReading begin = last;
    variant.trainer->backward(share);
    last = read(cell);
    sums.add_backward(begin, last);
  }
  StepReading& behind_all = sample.readings[2] = last;
  behind_all.at_s = last.ready_s - sums.reading_s;
  StepReading& behind_forward = sample.readings[1] = last;
  behind_forward.ready_s = behind_all.at_s - sums.backward_s;
  behind_forward.at_s = behind_forward.ready_s - sums.forward_reading_s;
  behind_forward.joules -= sums.backward_j;
  behind_forward.missed_j -= sums.backward_missed_j;
}

/// The readings of a step whose phases another program timed: of the meter there are those before it and behind.
void place_phases(const std::array<double, step_phases>& phases_s, StepSample& sample) {
  double at_s = sample.readings[0].ready_s;
  for (std::size_t phase = 0; phase < step_phases; ++phase) {
    StepReading& end = sample.readings[phase + 1];
    if (phase + 1 < step_phases) end = sample.readings[0];
    at_s += phases_s[phase];
    end.at_s = at_s;
    end.ready_s = phase + 1 < step_phases ? at_s : std::max(end.ready_s, at_s);
  }
}

/// By its own clock; what lies between its step and ours is the question, which no part of it is.
void time_peer_step(const TrainCell& cell, Variant& variant) {
  PeerProcess& process = *variant.process;
  StepSample sample;
  sample.before = read_counters(cell.request.root);
  sample.before.own_s += process.processor_s();
  sample.readings[0] = read(cell);
  process.step();
  sample.readings[step_phases] = read(cell);
  process.stop();
  sample.after = read_counters(cell.request.root);
  sample.after.own_s += process.processor_s();
  read_conditions(cell, sample);
  if (const auto& failure = process.failure()) {
    if (failure->status != Status::interrupted) variant.steps.clear();
    variant.status = failure->status;
    variant.reason = fmt::format("{} {}", variant.engine->name, failure->reason);
    return;
  }
  place_phases(process.phases_s(), sample);
  sample.begin_s = sample.readings[0].at_s;
  sample.end_s = sample.begin_s + process.last_run_s() + sample.reading_s();
  variant.steps.push_back(sample);
  if (!std::isfinite(process.last_value())) ++variant.nonfinite_losses;
}

/// The meter is read between the phases; what that takes is no part of them.
void time_step(const TrainCell& cell, Variant& variant) {
  const StepParts parts = variant.options.parts;
  const auto number = static_cast<std::int64_t>(variant.steps.size());
  StepSample& sample = variant.steps.emplace_back();
  if (cell.gpu) read_conditions(cell, sample);
  sample.before = read_counters(cell.request.root);
  sample.begin_s = now_s();
  sample.readings[0] = read(cell);
  double loss = 0;
  time_parts(cell, variant, sample, loss);
  if (parts == StepParts::whole) variant.trainer->update(number);
  sample.readings[3] = parts == StepParts::whole ? read(cell) : ended_at_once(sample.readings[2]);
  sample.end_s = now_s();
  sample.after = read_counters(cell.request.root);
  read_conditions(cell, sample);
  if (!std::isfinite(loss)) ++variant.nonfinite_losses;
}

/// False where an interrupt ended it between two operations: it is no step then.
bool time_whole_step(const TrainCell& cell, Variant& variant) {
  try {
    time_step(cell, variant);
    return true;
  } catch (const StepInterrupted&) {
    variant.steps.pop_back();
    return false;
  }
}

void give_up(Variant& variant, const Hindrance& hindrance) {
  variant.status = hindrance.status;
  variant.reason = hindrance.reason;
  variant.trainer.reset();
}

void prepare_peer(const TrainCell& cell, Variant& variant) {
  const double begin = now_s();
  QualityBatch& batch = variant.batches.emplace_back();
  batch.extent = cell.extent;
  batch.ids = random_batch(cell.model, cell.extent, cell.request.model_options.seed).input_ids;
  const OptimizerOptions& update = variant.options.optimizer;
  const PeerTask task = {.peer = *variant.engine,
                         .precision = variant.options.precision.name(),
                         .batches = variant.batches,
                         .training = PeerUpdate{update.learning_rate, update.weight_decay},
                         .most_s = cell.request.peer_seconds};
  variant.process = std::make_unique<PeerProcess>(*cell.peers, task);
  Record says;
  if (const auto failure = variant.process->prepare()) {
    says.outcome.status = failure->status;
    says.outcome.reason = fmt::format("{} {}", variant.engine->name, failure->reason);
  } else {
    record_operations(task, variant.process->operations(), Emulated::included, cell.facts, says);
  }
  variant.status = says.outcome.status;
  variant.reason = says.outcome.reason.value_or("");
  if (variant.status != Status::ok) variant.process.reset();
  variant.prepare_ms = (now_s() - begin) * 1e3;
}

void prepare_variant(const TrainCell& cell, Variant& variant) {
  if (variant.engine != nullptr) return prepare_peer(cell, variant);
  const double begin = now_s();
  const auto hindrance = hindrance_of([&] {
    variant.trainer = std::make_unique<Trainer>(cell.model.config, cell.model.weights, variant.options,
                                                find_backend(cell.request.device), cell.facts);
    variant.trainer->end_at(cell.callbacks.interrupted);
    const TrainingBatch batch = random_batch(cell.model, cell.extent, cell.request.model_options.seed);
    variant.parts = split(batch, variant.step.accumulate);
    for (const TrainingBatch& part : variant.parts) variant.trainer->set_batch(part);
  });
  if (hindrance) give_up(variant, *hindrance);
  variant.prepare_ms = (now_s() - begin) * 1e3;
  if (variant.status == Status::ok)
    refuse_what_is_slow(cell, {variant.prepare_ms * 1e-3, 0, "before the first of them ran"}, variant);
}

/// False where an interrupt ends it, or a device refuses memory while it runs: libraries load their code then, and
/// graphs take some.
bool run_step_that_fits(const TrainCell& cell, Variant& variant) {
  if (variant.engine != nullptr) {
    time_peer_step(cell, variant);
    return variant.is_ready();
  }
  bool is_whole = true;
  const auto hindrance = hindrance_of([&] { is_whole = time_whole_step(cell, variant); });
  if (!hindrance) return is_whole;
  variant.steps.clear();
  give_up(variant, *hindrance);
  return false;
}

/// Another program's preparation is its own affair.
ExpectedTime time_after_first_step(const Variant& variant) {
  return {variant.engine != nullptr ? 0 : variant.prepare_ms * 1e-3, variant.steps.front().step_ms() * 1e-3,
          "by the first of them"};
}

/// Takes away the steps of a round behind the shortest warm-up in which a GPU's clocks were held down.
bool leave_out_throttled(const TrainCell& cell, const std::vector<Variant*>& together, std::int64_t round) {
  const auto is_held_down = [](const Variant* variant) {
    return variant->is_ready() && is_throttled(variant->steps.back().throttle_reasons);
  };
  const std::vector<std::int64_t>& warmups = cell.request.warmups;
  const std::int64_t counted = round - *std::min_element(warmups.begin(), warmups.end());
  if (!cell.gpu || counted < 0 || is_set(cell.callbacks.interrupted)) return false;
  if (!may_leave_out(together.front()->throttled_rounds, counted)) return false;
  if (std::none_of(together.begin(), together.end(), is_held_down)) return false;
  for (Variant* variant : together) {
    ++variant->throttled_rounds;
    if (variant->is_ready()) variant->steps.pop_back();
  }
  return true;
}

/// Runs one more step, without the host's part in it. Nothing is known of it where the host computes.
void time_on_device(Variant& variant) {
  Trainer& trainer = *variant.trainer;
  variant.device_time = trainer.step_plan()->device().time([&] {
    trainer.step_plan()->enqueue(Phase::forward);
    if (variant.options.parts != StepParts::forward) trainer.step_plan()->enqueue(Phase::backward);
    for (Plan* plan : {trainer.norm_plan(), trainer.update_plan()}) {
      if (plan != nullptr && trainer.updates() > 1) plan->enqueue();
    }
  });
}

/// The loss of the last step that ran.
void refuse_non_finite_loss(Variant& variant) {
  if (variant.trainer == nullptr) return;
  const std::optional<NonFiniteRun> run = find_non_finite(*variant.trainer->step_plan(), "loss", {});
  if (!run || variant.status != Status::ok) return;
  variant.status = Status::not_finite;
  variant.reason = fmt::format("after {} steps, {}", variant.steps.size(), words(*run));
}

/// Steps of all `together`, one of each a round, in a new random order.
void train_rounds(const TrainCell& cell, std::vector<Variant*> together) {
  Random random(cell.request.model_options.seed, 0x7b);
  const std::int64_t rounds = most_warmup(cell.request) + cell.request.steps;
  for (std::int64_t round = 0; round < rounds; ++round) {
    for (std::size_t i = together.size(); i > 1; --i) std::swap(together[i - 1], together[random.below(i)]);
    double round_s = 0;
    for (Variant* variant : together) {
      if (!variant->is_ready() || is_set(cell.callbacks.interrupted)) continue;
      if (!run_step_that_fits(cell, *variant)) continue;
      if (round == 0) refuse_what_is_slow(cell, time_after_first_step(*variant), *variant);
      round_s += variant->steps.back().step_ms() * 1e-3;
    }
    if (cell.callbacks.progress) {
      cell.callbacks.progress(
          fmt::format("{} {} x {}", shown_model_name(cell.model.name), cell.extent.batch, cell.extent.seq),
          round_s * static_cast<double>(rounds - round - 1));
    }
    if (leave_out_throttled(cell, together, round)) --round;
  }
  for (Variant* variant : together) {
    const bool is_interrupted = is_set(cell.callbacks.interrupted);  // The loss of its last step may be half computed.
    if (variant->trainer != nullptr && !is_interrupted) time_on_device(*variant);
    if (!variant->steps.empty() && !is_interrupted) refuse_non_finite_loss(*variant);
    if (is_interrupted && variant->status == Status::ok) variant->status = Status::interrupted;
    if (variant->status == Status::interrupted) variant->reason = "interrupted";
  }
}

}  // namespace

double StepSample::reading_s() const {
  double total = 0;
  for (const StepReading& reading : readings) total += reading.ready_s - reading.at_s;
  return total;
}

namespace {

std::vector<std::pair<Fusion, StepVariant>> ways_of(const TrainBenchmarkRequest& request) {
  std::vector<std::pair<Fusion, StepVariant>> ways;
  for (const Fusion fusion : request.fusions) {
    for (const StepVariant& step : step_variants(request.step)) ways.emplace_back(fusion, step);
  }
  return ways;
}

/// Other programs do a step in one way.
void add_peer_variants(const TrainCell& cell, std::vector<Variant>& variants) {
  for (const std::string& name : cell.request.peers) {
    const Peer& peer = find_peer(name, PeerUse::training);
    for (const std::string& precision : cell.request.precisions) {
      Variant& variant = variants.emplace_back();
      variant.engine = &peer;
      variant.precision = precision;
      variant.fusion = cell.request.fusions.front();  // That of the row it is compared with.
      variant.counted = static_cast<std::size_t>(cell.request.steps);
      variant.options = training_options(cell, precision, variant.fusion, variant.step);
      if (peer_precision(peer, variant.options.precision.name(), PeerUse::training) != nullptr) {
        predict(cell, variant);  // It holds what this program holds, at least.
      } else {
        variant.status = Status::unsupported;
        variant.reason = fmt::format("{} cannot be asked for {}; it can for {}", name, precision,
                                     peer_precision_names(peer, PeerUse::training));
      }
    }
  }
}

}  // namespace

std::vector<Variant> make_variants(const TrainCell& cell) {
  std::vector<Variant> variants;
  for (const std::string& precision : cell.request.precisions) {
    for (const auto& [fusion, step] : ways_of(cell.request)) {
      Variant& variant = variants.emplace_back();
      variant.precision = precision;
      variant.fusion = fusion;
      variant.step = step;
      variant.counted = static_cast<std::size_t>(cell.request.steps);
      variant.options = training_options(cell, precision, fusion, step);
      if (!runs_on(variant.options.precision.row, cell.request.device)) {
        variant.status = Status::unsupported;
        variant.reason = fmt::format("{} exists on CUDA devices only", precision);
      } else if (!variant.options.precision.row.gradients) {
        variant.status = Status::unsupported;
        variant.reason = fmt::format("{} is a precision for inference", precision);
      } else {
        predict(cell, variant);
        if (variant.status == Status::ok) refuse_what_is_slow(cell, expected_time(cell, variant), variant);
      }
    }
  }
  add_peer_variants(cell, variants);
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
    for (Variant* variant : group) {
      variant->group = static_cast<std::int64_t>(first) + 1;
      prepare_variant(cell, *variant);
    }
    train_rounds(cell, group);
    for (const Variant* variant : group) {
      if (variant->engine == nullptr) note_reached(cell, *variant);
    }
    if (fit) continue;
    group.front()->trainer.reset();
    group.front()->process.reset();
  }
}

}  // namespace assay
