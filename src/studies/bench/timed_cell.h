#pragma once

#include <memory>
#include <vector>

#include "measure/sampling.h"
#include "studies/bench/group.h"
#include "studies/bench/timed_pass.h"
#include "studies/peers/timed_engine.h"

namespace assay {

/// What is timed of one cell, and the records that it stands for. It stays where it is made: its passes look at
/// `random`.
struct TimedCell {
  const CellInputs& inputs;
  std::vector<QualityBatch> random = {};  ///< Where the inputs are no data.
  std::vector<std::unique_ptr<TimedPass>> passes = {};
  std::vector<Subject> subjects = {};  ///< Of the passes; so are the rest.
  std::vector<BenchGroup::Member*> members = {};
  std::vector<std::size_t> places = {};  ///< Of their records.
  /// Other programs, whose subjects stand behind those of the passes, and the places of their records.
  std::vector<std::unique_ptr<TimedEngine>> engines = {};
  std::vector<std::size_t> engine_places = {};

  const std::vector<QualityBatch>& batches() const { return inputs.batches.empty() ? random : inputs.batches; }
  bool is_of_data() const { return !inputs.batches.empty(); }
  std::vector<std::size_t> all_places() const;
};

/// Plans the group's precisions on the cell's inputs. Appends one record a precision; those that cannot run say why.
void plan_cell(BenchGroup& group, TimedCell& cell, std::vector<Record>& records);

/// What is known of a cell when it is warm.
struct CellStart {
  double start_s = 0;      ///< What a process takes until it warms up: plans, packing, first runs.
  double round_s = 0;      ///< A run of each precision.
  double budget_s = 0;     ///< Of all its precisions together.
  bool fits_twice = true;  ///< Whether memory has room for it once more, beside this process.
};
CellStart start_of(const BenchGroup& group, const TimedCell& cell, const SamplingStart& sampling,
                   const std::vector<Record>& records);

/// What its matrix products take at the best rates that were measured; 0 where none were.
double least_round_s(const TimedCell& cell, const std::vector<Record>& records);

}  // namespace assay
