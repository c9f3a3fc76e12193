#pragma once

#include <optional>
#include <string>

#include "base/random.h"
#include "studies/rank_benchmark/rounds.h"

namespace assay {

/// The same training by rank 0 alone: with its own threads, and as one process that has the threads of all ranks of
/// the machine.
class AloneSteps {
 public:
  /// `available_bytes`: what memory the ranks leave; 0: it is not known. Throws OutOfMemory where the first of the two
  /// does not fit; the second is then left out.
  AloneSteps(const RankCase& one, const TrainingBatch& part, const TrainingBatch& whole, std::int64_t available_bytes);

  /// A step of each, in random order.
  AloneRound time(std::int64_t step);
  /// Why there is no process with all threads where there could be; empty else.
  const std::string& words() const { return words_; }

 private:
  void make_one_process(const RankCase& one, std::int64_t available_bytes);

  const Neighbours& neighbours_;
  TrainingBatch part_;
  TrainingBatch whole_;
  MachineFacts facts_;
  MachineFacts facts_of_all_;
  std::optional<Trainer> alone_;
  std::optional<Trainer> one_process_;
  Random order_;
  std::string words_;
};

/// Options of a step by this row's rank of `sharding`, or by one process.
TrainingOptions rank_step_options(const RankCase& one, const Sharding& sharding);

}  // namespace assay
