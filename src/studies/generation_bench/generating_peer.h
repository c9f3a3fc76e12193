#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "measure/sampling.h"
#include "quality/evaluate.h"
#include "results/record.h"
#include "studies/bench/group.h"
#include "studies/generation_bench/cell.h"
#include "studies/peers/timed_engine.h"

namespace assay {

/// A peer that generates in a cell, beside the precisions of this program.
class GeneratingPeer {
 public:
  /// `batches`: the one of depth and prompt. `place`: of the prefill's record; the decode's is the next one. All that
  /// it is given outlives it.
  GeneratingPeer(const BenchGroup& group, const BenchGroup::Member& member, const GenerationCell& cell,
                 std::size_t place, const std::vector<QualityBatch>& batches);

  /// Whether it is ready; else both of its records say why not.
  bool prepare(std::vector<Record>& records);
  Subject prefill_subject();
  Subject decode_subject();

  /// The series of a phase, and the baseline's of the same.
  struct PhaseSeries {
    const Series& series;
    const Series& baseline;
  };
  void record(const BenchGroup& group, const PhaseSeries& phase, Record& record);
  /// `flops`: of the phase's sample.
  void record_work(const MachineFacts& facts, std::optional<double> flops, Record& record) const;

  std::size_t place() const { return place_; }
  double processor_s() const { return process_.processor_s(); }

 private:
  Subject subject(std::function<void()> run, std::function<double()> run_s);
  /// Of the decode that just ended.
  void note_tokens();
  /// Those of the record's phase.
  const std::vector<PeerOperation>& operations_of(const Record& record) const;

  const BenchGroup& group_;
  const GenerationCell& cell_;
  std::size_t place_;
  std::string name_;
  PeerTask task_;
  PeerProcess process_;
  std::vector<std::vector<double>> token_ms_ = {};  ///< Of every decode that was looked at.
  bool decoded_ = false;                            ///< Whether the last turn was one.
  bool reads_prompt_too_ = false;                   ///< Whether the turns of decodes do more than their tokens.
};

}  // namespace assay
