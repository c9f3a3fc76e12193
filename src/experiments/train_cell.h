#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "experiments/train_benchmark.h"
#include "model/model.h"
#include "training/trainer.h"

namespace assay {

/// Times of one variant's steps in ms, in order, the warm-up included.
struct StepTimes {
  double prepare_ms = 0;  ///< Weights, state and plan.
  std::vector<double> forward_ms;
  std::vector<double> backward_ms;
  std::vector<double> optimizer_ms;
  std::vector<double> step_ms;  ///< By its own two readings, not by a sum.
  std::vector<double> page_faults;
};

/// One way to train one model at one shape.
struct Variant {
  std::string precision;
  Fusion fusion = Fusion::on;
  TrainingOptions options;
  std::int64_t needed_bytes = 0;  ///< State and arena, predicted.
  Status status = Status::ok;
  std::string reason;
  std::unique_ptr<Trainer> trainer;
  StepTimes times;
};

/// The variants of one model at one shape, and what is run.
struct TrainCell {
  const Model& model;
  Extent extent;
  const TrainBenchmarkRequest& request;
  const MachineFacts& facts;
  const BenchCallbacks& callbacks;
  std::vector<Variant> variants;
};

/// Variants with their predicted bytes; one that cannot be or does not fit has its status and reason.
std::vector<Variant> make_variants(const TrainCell& cell);
/// Runs the cell: together where memory holds all variants, else one at a time.
void run_cell(TrainCell& cell);

}  // namespace assay
