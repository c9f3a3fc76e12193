#include "studies/rank_benchmark/rounds.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/clock.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "base/random.h"
#include "processes/gather.h"
#include "results/model_name.h"
#include "studies/rank_benchmark/alone.h"
#include "studies/shared/meet_on_devices.h"
#include "studies/shared/training_step.h"
#include "training/data.h"

namespace assay {
namespace {

constexpr double RankStep::*times_of_step[] = {&RankStep::forward_s, &RankStep::backward_s,  &RankStep::exposed_s,
                                               &RankStep::hidden_s,  &RankStep::optimizer_s, &RankStep::step_s};

/// Every figure where it is largest.
RankStep slowest_of(const std::vector<RankStep>& ranks) {
  RankStep all;
  for (const RankStep& rank : ranks) {
    for (double RankStep::*figure : times_of_step) all.*figure = std::max(all.*figure, rank.*figure);
    all.sent_bytes = std::max(all.sent_bytes, rank.sent_bytes);
    all.is_finite = all.is_finite && rank.is_finite;
  }
  return all;
}

/// The same on all ranks: that of the lowest one that has one.
std::optional<Hindrance> shared_hindrance(Group& group, const std::optional<Hindrance>& mine) {
  const std::vector<Status> all = all_gather_values(group, mine ? mine->status : Status::ok);
  const std::vector<std::string> reasons = all_gather(group, mine ? mine->reason : std::string());
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank] != Status::ok) return Hindrance{all[rank], fmt::format("rank {}: {}", rank, reasons[rank])};
  }
  return std::nullopt;
}

/// Of the machine, with what its ranks together have used of it.
Counters machine_counters(const RankCase& one) {
  const OnProcessors all(one.neighbours.processors);  // Counters are of processors that the reader may use.
  return read_counters(one.request.steps.root);
}

/// A meter that stops answering ends the metering; times stay good.
StepReading read_machine(const RankCase& one) {
  StepReading reading{.at_s = now_s(), .ready_s = 0};
  reading.ready_s = reading.at_s;
  EnergySource& source = one.power.source;
  if (!source.meter) return reading;
  try {
    reading.joules = source.meter->read_j();
    reading.missed_j = source.meter->missed_j();
  } catch (const Error& error) {
    one.power = {.source = {nullptr, error.what()}};
  }
  return reading;
}

/// Readings of a machine around one step of its ranks.
struct MachineReadings {
  StepReading before;
  StepReading after;
  Counters counters_before;
  Counters counters_after;
};

/// What this rank's process used between two readings of its own counters.
void set_own(const Counters& before, const Counters& after, RankStep& step) {
  step.own_s = after.own_s - before.own_s;
  step.page_faults = after.page_faults - before.page_faults;
  step.major_page_faults = after.major_page_faults - before.major_page_faults;
}

/// As a step of the slowest rank. The meter was read before and behind all of it.
StepSample sample_of(const RankCase& one, const MachineReadings& machine, const RankStep& slowest,
                     const std::vector<RankStep>& ranks) {
  StepSample sample;
  const std::array<double, step_phases> phases_s = {slowest.forward_s, slowest.backward_s, slowest.optimizer_s};
  sample.readings[0] = machine.before;
  sample.readings[0].at_s = sample.readings[0].ready_s = 0;
  for (std::size_t phase = 0; phase < step_phases; ++phase) {
    StepReading& end = sample.readings[phase + 1];
    end = sample.readings[phase];
    end.at_s = end.ready_s = sample.readings[phase].ready_s + phases_s[phase];
  }
  sample.readings[step_phases].joules = machine.after.joules;
  sample.readings[step_phases].missed_j = machine.after.missed_j;
  sample.end_s = slowest.step_s;
  sample.before = machine.counters_before;
  sample.after = machine.counters_after;
  if (one.neighbours.are_processes) {
    sample.after.own_s = sample.before.own_s;
    sample.after.page_faults = sample.before.page_faults;
    sample.after.major_page_faults = sample.before.major_page_faults;
    for (const int rank : one.neighbours.ranks) {
      const RankStep& its = ranks[static_cast<std::size_t>(rank)];
      sample.after.own_s += its.own_s;
      sample.after.page_faults += its.page_faults;
      sample.after.major_page_faults += its.major_page_faults;
    }
  }
  if (!one.neighbours.reads) return sample;
  sample.frequency_mhz = read_frequency_mhz(one.request.steps.root);
  sample.temperature_c = read_temperature_c(one.request.steps.root);
  return sample;
}

/// The trainers of a row, and what they are given.
class RankRow {
 public:
  explicit RankRow(const RankCase& one) : one_(one), order_(one.request.steps.model_options.seed, 0x7c) {}

  void make(RankRounds& made);
  void join(RankRounds& made);
  void round(std::int64_t step, RankRounds& made);
  void end(RankRounds& made);

 private:
  void time_together(std::int64_t step, RankRounds& made);
  void time_alone(std::int64_t step, RankRounds& made);
  void make_together(Variant& variant);
  void make_alone(Variant& variant);

  const RankCase& one_;
  TrainingBatch whole_;
  TrainingBatch part_;
  MachineFacts facts_;  ///< With this rank's part of the memory.
  std::optional<AloneSteps> alone_;
  Random order_;
};

void RankRow::make_together(Variant& variant) {
  const RankBenchmarkRequest& request = one_.request;
  facts_ = one_.facts;
  facts_.available_bytes /= std::ssize(one_.neighbours.ranks);
  const Sharding sharding{request.stage, one_.group.rank(), one_.group.size(), request.reduce.bucket_bytes};
  variant.options = rank_step_options(one_, sharding);
  if (!variant.options.precision.row.gradients) fail_lacking("{} is a precision for inference", one_.precision);
  variant.trainer = std::make_unique<Trainer>(one_.model.config, one_.model.weights, variant.options,
                                              find_backend(request.steps.device), facts_);
  variant.trainer->set_batch(part_);
}

/// With the memory that the machine's ranks leave, which are alike.
void RankRow::make_alone(Variant& variant) {
  const std::int64_t taken = variant.trainer->state().bytes() + variant.trainer->step_plan()->peak_bytes();
  const std::int64_t all = one_.facts.available_bytes;
  const std::int64_t left = all - taken * std::ssize(one_.neighbours.ranks);
  alone_.emplace(one_, part_, whole_, all > 0 ? std::max<std::int64_t>(left, 1) : 0);
}

void RankRow::make(RankRounds& made) {
  Variant& variant = made.variant;
  variant.precision = one_.precision;
  variant.step = one_.request.step;
  variant.counted = static_cast<std::size_t>(one_.request.steps.steps);
  const double begin = now_s();
  std::optional<Hindrance> hindrance;
  agreed(one_.group, [&] {
    whole_ = random_batch(one_.model, one_.extent, one_.request.steps.model_options.seed);
    part_ = split(whole_, one_.group.size())[static_cast<std::size_t>(one_.group.rank())];
    hindrance = hindrance_of([&] { make_together(variant); });
    variant.prepare_ms = (now_s() - begin) * 1e3;
    if (!hindrance && one_.group.rank() == 0) hindrance = hindrance_of([&] { make_alone(variant); });
  });
  hindrance = shared_hindrance(one_.group, hindrance);
  if (alone_) made.words = alone_->words();
  if (!hindrance) return;
  variant.status = hindrance->status;
  variant.reason = hindrance->reason;
  alone_.reset();
  variant.trainer.reset();
}

void RankRow::join(RankRounds& made) {
  Trainer& trainer = *made.variant.trainer;
  ReduceOptions reduce = one_.request.reduce;
  reduce.format = one_.format;
  DeviceMeeting meeting = meet_on_devices(one_.group, find_backend(one_.request.steps.device), reduce,
                                          gradient_sizes(trainer.programs().step));
  trainer.join(one_.group, reduce, std::move(meeting.sums));
  LedgerRow& row = made.reduction;
  row.path = "gradients";
  row.operation = "sum_over_ranks";
  row.role = "optimizer";
  row.requested = trainer.options().precision.name();
  row.kernel = trainer.reducer()->description();
  row.operand = one_.format.wire;
  row.accumulator = one_.format.sum;
  if (!trainer.reducer()->tensors().empty()) row.stored = trainer.reducer()->tensors().front().dtype;
  row.evidence = "the format that was asked for; sums are this program's own or the library's, as the kernel says";
  if (!meeting.words.empty()) row.evidence += "; " + meeting.words;
}

void RankRow::time_together(std::int64_t step, RankRounds& made) {
  Trainer& trainer = *made.variant.trainer;
  MachineReadings machine;
  if (one_.neighbours.reads) {
    machine.counters_before = machine_counters(one_);
    machine.before = read_machine(one_);
  }
  const Counters own = read_counters(one_.request.steps.root);
  barrier(one_.group);
  RankStep mine = timed_step(trainer, 1.0 / one_.group.size(), step);
  barrier(one_.group);
  set_own(own, read_counters(one_.request.steps.root), mine);
  mine.sent_bytes = trainer.sent_bytes();
  if (one_.neighbours.reads) {
    machine.after = read_machine(one_);
    machine.counters_after = machine_counters(one_);
  }
  const std::vector<RankStep> ranks = all_gather_values(one_.group, mine);
  made.slowest.push_back(slowest_of(ranks));
  made.variant.steps.push_back(sample_of(one_, machine, made.slowest.back(), ranks));
  if (!made.slowest.back().is_finite) ++made.variant.nonfinite_losses;
}

/// The others sleep meanwhile.
void RankRow::time_alone(std::int64_t step, RankRounds& made) {
  if (alone_) made.alone.push_back(alone_->time(step));
  gather_in_patience(one_.group, "");
}

/// All ranks draw the same order.
void RankRow::round(std::int64_t step, RankRounds& made) {
  const bool is_together_first = order_.below(2) == 0;
  if (is_together_first) time_together(step, made);
  time_alone(step, made);
  if (!is_together_first) time_together(step, made);
}

/// Rank 0's loss is of its own rows: any rank's counts.
void RankRow::end(RankRounds& made) {
  Variant& variant = made.variant;
  if (!made.slowest.empty() && !made.slowest.back().is_finite) {
    variant.status = Status::not_finite;
    variant.reason = fmt::format("after {} steps, the loss is not finite", made.slowest.size());
  }
  if (static_cast<std::int64_t>(variant.steps.size()) >= most_warmup(one_.request.steps) + one_.request.steps.steps)
    return;
  if (variant.status == Status::ok) variant.status = Status::interrupted;
  if (variant.status == Status::interrupted) variant.reason = "interrupted";
}

void tell_progress(const RankCase& one, std::int64_t step, std::int64_t rounds, double round_s) {
  if (!one.callbacks.progress) return;
  one.callbacks.progress(fmt::format("{} {} x {}, {} ranks", shown_model_name(one.model.name), one.extent.batch,
                                     one.extent.seq, one.group.size()),
                         round_s * static_cast<double>(rounds - step - 1));
}

}  // namespace

bool any_interrupted(Group& group, InterruptFlag interrupted) {
  const std::vector<std::uint8_t> all = all_gather_values(group, static_cast<std::uint8_t>(is_set(interrupted)));
  return std::ranges::find(all, 1) != all.end();
}

RankStep timed_step(Trainer& trainer, double share, std::int64_t step) {
  RankStep time;
  const double begin = now_s();
  const double loss = trainer.forward();
  const double forward = now_s();
  trainer.backward(share);
  const double backward = now_s();
  trainer.update(step);
  const double end = now_s();
  if (trainer.reducer() != nullptr) {
    time.exposed_s = trainer.reducer()->statistics().exposed_s;
    time.hidden_s = trainer.reducer()->statistics().hidden_s();
  }
  time.forward_s = forward - begin;
  time.backward_s = backward - forward - time.exposed_s;
  time.optimizer_s = end - backward;
  time.step_s = end - begin;
  time.is_finite = std::isfinite(loss);
  return time;
}

RankRounds measure_rounds(const RankCase& one) {
  RankRounds made;
  RankRow row(one);
  row.make(made);
  if (made.variant.status != Status::ok) return made;
  row.join(made);
  const std::int64_t rounds = most_warmup(one.request.steps) + one.request.steps.steps;
  for (std::int64_t step = 0; step < rounds && !any_interrupted(one.group, one.callbacks.interrupted); ++step) {
    const double begin = now_s();
    row.round(step, made);
    tell_progress(one, step, rounds, now_s() - begin);
  }
  row.end(made);
  return made;
}

}  // namespace assay
