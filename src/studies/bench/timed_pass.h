#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "hardware/facts.h"
#include "measure/sampling.h"
#include "results/parts.h"
#include "runtime/instance.h"
#include "runtime/plan.h"
#include "studies/bench/timed_rows.h"

namespace assay {

/// What is timed of one precision in a cell: the batches of its inputs, with a plan for each length of them. All plans
/// share the arena of the first, which is the longest and which the record's memory and ledger are of.
class TimedPass {
 public:
  /// `inputs` outlives it; its first batch has the shape of `longest`, whose input it becomes.
  TimedPass(std::unique_ptr<Plan> longest, Instance& instance, const std::vector<QualityBatch>& batches);

  /// Makes run() take that batch. A shape that comes for the first time is run once, untimed.
  void take(std::size_t batch);
  Subject subject(const std::string& name);
  /// That of the batch taken last.
  Plan& current() { return *current_; }
  Plan& longest() { return *plans_.begin()->second; }
  std::int64_t own_bytes() const;  ///< Of all its plans.

  /// Work and bytes of a pass as means over the drawn batches (`raw_inputs`), in the place of the longest's.
  struct WorkOf {
    const Model& model;
    const ProgramOptions& program;
    const MachineFacts& facts;
  };
  void set_mean_work(std::span<const double> raw_inputs, const WorkOf& work, Evidence& evidence) const;

 private:
  Plan& plan_of(const QualityBatch& batch);

  Instance& instance_;
  const std::vector<QualityBatch>& batches_;
  std::map<std::int64_t, std::unique_ptr<Plan>, std::greater<>> plans_;  ///< By length.
  Plan* current_;
};

/// The real ids and the positions of each sample's batch.
void record_batches(std::span<const double> raw_inputs, const std::vector<QualityBatch>& batches, Latency& latency);

}  // namespace assay
