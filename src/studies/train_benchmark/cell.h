#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "measure/conditions.h"
#include "measure/gpu_conditions.h"
#include "model/model.h"
#include "quality/evaluate.h"
#include "results/states.h"
#include "studies/peers/peer_process.h"
#include "studies/train_benchmark/request.h"
#include "training/trainer.h"

namespace assay {

/// Clock and meter between two phases.
struct StepReading {
  double at_s = 0;      ///< Before the meter was read: where the phase before it ends.
  double ready_s = 0;   ///< After that: where the next phase begins.
  double joules = 0;    ///< 0 without a meter.
  double missed_j = 0;  ///< Its bound so far, see EnergyMeter.
};

/// Forward, backward, update.
constexpr std::size_t step_phases = 3;

/// What was read of one step. A phase that the options leave out ends when it begins.
struct StepSample {
  double begin_s = 0;  ///< The step by readings of its own, outside those of the phases.
  double end_s = 0;
  std::array<StepReading, step_phases + 1> readings;  ///< Before the first phase, and after each.
  Counters before;
  Counters after;
  std::optional<double> frequency_mhz;  ///< After it.
  std::optional<double> temperature_c;
  std::uint64_t throttle_reasons = 0;  ///< Of a GPU, before and after it.

  double phase_ms(std::size_t phase) const { return (readings[phase + 1].at_s - readings[phase].ready_s) * 1e3; }
  double phase_j(std::size_t phase) const { return readings[phase + 1].joules - readings[phase].joules; }
  double step_ms() const { return (end_s - begin_s - reading_s()) * 1e3; }
  double reading_s() const;  ///< What reading the meter took within the step.
  double step_j() const { return readings.back().joules - readings.front().joules; }
  double phase_missed_j(std::size_t phase) const { return readings[phase + 1].missed_j - readings[phase].missed_j; }
  double step_missed_j() const { return readings.back().missed_j - readings.front().missed_j; }
};

/// One way to train one model at one shape.
struct Variant {
  std::string precision;
  Fusion fusion = Fusion::on;
  StepVariant step = {};
  TrainingOptions options;
  std::vector<TrainingBatch> parts = {};  ///< Of the batch.
  std::int64_t needed_bytes = 0;          ///< State and arena, predicted.
  Status status = Status::ok;
  std::string reason;
  std::unique_ptr<Trainer> trainer;
  const Peer* engine = nullptr;           ///< Another program that does it; null: this one.
  std::vector<QualityBatch> batches;      ///< What it is given.
  std::unique_ptr<PeerProcess> process;   ///< In which it does.
  double prepare_ms = 0;                  ///< Weights, state and plan.
  std::vector<StepSample> steps;          ///< In order, the warm-up included.
  std::size_t counted = 0;                ///< How many of them count after a warm-up, whichever.
  std::int64_t nonfinite_losses = 0;      ///< Steps whose loss was not finite.
  std::int64_t group = 0;                 ///< Variants that ran interleaved share it.
  int throttled_rounds = 0;               ///< Left out of `steps`, as Series has it.
  std::optional<DeviceTime> device_time;  ///< Of one more step.

  /// For one more step.
  bool is_ready() const {
    return status == Status::ok && (trainer != nullptr || (process != nullptr && !process->is_lost()));
  }
};

/// How fast a step ran: the first one, where no other did.
struct ReachedStep {
  std::string model;
  std::string precision;
  Fusion fusion = Fusion::on;
  Extent extent;
  std::int64_t parameters = 0;
  double flops = 0;
  double step_s = 0;
  double prepare_s = 0;
};

/// The variants of one model at one shape, and what is run.
struct TrainCell {
  const Model& model;
  Extent extent;
  const TrainBenchmarkRequest& request;
  const MachineFacts& facts;
  const StudyCallbacks& callbacks;
  Power& power;
  std::vector<Variant> variants;
  std::function<GpuConditions()> gpu = {};  ///< Of the GPU that works; empty: none does.
  PeerHost* peers = nullptr;                ///< Of the model; null: no other program is asked.
  std::vector<ReachedStep> reached = {};    ///< In the cells before, and then in this one.
};

/// Variants with their predicted bytes; one that cannot be, does not fit or is too slow has its status
/// and reason.
std::vector<Variant> make_variants(const TrainCell& cell);
/// Runs the cell: together where memory holds all variants, else one at a time.
void run_cell(TrainCell& cell);

}  // namespace assay
