#pragma once

#include <memory>
#include <string>
#include <vector>

#include "measure/sampling.h"
#include "results/record.h"
#include "runtime/cold_caches.h"
#include "studies/bench/outlook.h"
#include "studies/bench/request.h"
#include "studies/bench/timed_pass.h"
#include "studies/bench/timed_rows.h"
#include "studies/bench/trial.h"
#include "studies/shared/quality_data.h"

namespace assay {

/// A precision that is measured, with its overrides by role. The baseline has none, whatever was asked of the others.
struct Contender {
  std::string precision;
  std::string overrides;
  friend bool operator==(const Contender&, const Contender&) = default;
};

/// What a group takes part in.
struct GroupContext {
  const BenchRequest& request;
  const StudyCallbacks& callbacks;
  Power& power;
  std::int64_t number = 1;  ///< Of the group, from 1.
};

/// What is known of a cell when it is warm.
struct CellStart {
  double start_s = 0;      ///< What a process takes until it warms up: plans, packing, first runs.
  double round_s = 0;      ///< A run of each precision.
  double budget_s = 0;     ///< Of all its precisions together.
  bool fits_twice = true;  ///< Whether memory has room for it once more, beside this process.
};

/// One model in the precisions that fit into memory together, from instances to records. `setting` is what all
/// records share.
class BenchGroup {
 public:
  BenchGroup(const Model& model, MachineFacts facts, const GroupContext& context);

  /// Makes the instances. A precision that cannot be had keeps its reason and becomes a row in every cell.
  void open(const std::vector<Contender>& contenders, const Setting& setting);
  /// Runs each precision once at these shapes in a process of its own. One that dies there, hangs or runs out of memory
  /// is not run in this process: its row says why.
  void try_apart(const std::vector<Extent>& extents);
  /// A record for each precision on those inputs, with nothing but what is known before it runs.
  std::vector<Record> blanks(const CellInputs& inputs) const;
  /// Times all instances on those inputs, interleaved. Appends one record a precision. `later_s`: what the cells after
  /// this one will take, for the progress line.
  void measure(const CellInputs& inputs, double later_s, std::vector<Record>& records);
  /// Scores all instances and writes the figures into this group's records among `records`. What memory or kernels
  /// lack for it becomes their quality_status: what was timed stays.
  void score(const QualityData& data, std::vector<Record>& records) const;

 private:
  struct Member {
    Contender contender;
    Record blank;
    std::unique_ptr<Instance> instance;  ///< Null where the precision cannot be had: see blank.status.
    bool is_packed = false;              ///< A plan has packed its weights already.
    std::vector<Trial> trials = {};      ///< Of shapes that were tried.
  };
  /// What is timed of one cell, and the records that it stands for.
  struct Cell {
    const CellInputs& inputs;
    std::vector<QualityBatch> random = {};  ///< Where the inputs are no data.
    std::vector<std::unique_ptr<TimedPass>> passes = {};
    std::vector<std::size_t> places = {};
    std::vector<Subject> subjects = {};
    std::vector<Contender> contenders = {};

    const std::vector<QualityBatch>& batches() const { return inputs.batches.empty() ? random : inputs.batches; }
    bool is_of_data() const { return !inputs.batches.empty(); }
  };
  std::unique_ptr<Plan> make_plan(Member& member, const PlanOptions& options, Record& record);
  void make_cold_caches();
  /// Whether fewer rounds fit into the budget than an interval needs; says so where they do.
  bool says_too_few(Extent extent, const Outlook& outlook) const;
  void say_declined(const ResidentAnswer& trial, const Record& record) const;
  Cell plan_cell(const CellInputs& inputs, std::vector<Record>& records);
  void record_run_spread(const Cell& cell, std::vector<Record>& records) const;
  void record_padding_cost(const Cell& cell, SamplingOptions options, std::vector<Record>& records) const;
  void record_work(const Cell& cell, std::size_t member, const Series& series, Record& record) const;
  /// A first run that found its weights packed by an earlier shape is none.
  void drop_later_firsts(const Cell& cell, std::vector<Record>& records);
  static std::vector<Series> sample_cell(const Cell& cell, const SamplingOptions& options,
                                         std::vector<Record>& records);
  SamplingOptions sampling_options(const CellInputs& inputs, double later_s);
  /// What its matrix products take at the best rates that were measured; 0 where none were.
  static double least_round_s(const Cell& cell, const std::vector<Record>& records);
  CellStart start_of(const Cell& cell, const SamplingStart& sampling, const std::vector<Record>& records) const;
  /// Times the cell in processes of their own, and appends what they sampled to its rows.
  void sample_again(const Cell& cell, Extent extent, int processes, std::vector<Record>& records);
  std::optional<QualityStatus> why_not_scored(const QualityData& data) const;
  Evaluation evaluate_all(const std::vector<Instance*>& instances, const QualityData& data) const;
  std::optional<std::int64_t> free_bytes(std::int64_t arenas) const;

  const Model& model_;
  const std::string shown_name_;  ///< While it runs.
  const BenchRequest& request_;
  const StudyCallbacks& callbacks_;
  Power& power_;
  std::int64_t number_;
  const MachineFacts facts_;
  std::vector<Member> members_;
  std::unique_ptr<ColdCaches> cold_;  ///< Where caches are to be cold.
};

/// Precisions in groups whose weights fit into memory at the same time, each beginning with the baseline where that
/// fits beside the next precision; else that one runs alone, without a speed-up.
std::vector<std::vector<Contender>> group_precisions(const Model& model, const BenchRequest& request,
                                                     const std::vector<Contender>& contenders,
                                                     const MachineFacts& facts);

}  // namespace assay
