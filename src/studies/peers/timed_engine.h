#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "measure/sampling.h"
#include "model/model.h"
#include "program/program.h"
#include "quality/logit_source.h"
#include "results/record.h"
#include "studies/peers/peer_host.h"
#include "studies/peers/peer_process.h"
#include "studies/shared/engine.h"

namespace assay {

/// Another program as a row of a cell: what is timed, and what is known of it besides.
class TimedEngine {
 public:
  TimedEngine() = default;
  TimedEngine(const TimedEngine&) = delete;
  TimedEngine& operator=(const TimedEngine&) = delete;
  virtual ~TimedEngine() = default;

  /// Makes it ready to run, and asks what it runs in. Whether it is to be timed: else the record says why.
  virtual bool prepare(Record& record) = 0;
  /// Lives no longer than this.
  virtual Subject subject(const std::string& name) = 0;
  /// Processor seconds that it used in processes that still run.
  virtual double processor_s() const = 0;
  /// After the samples: memory, what ran, whether its output is finite.
  virtual void describe(Record& record) = 0;
};

/// How passes of a peer are measured and judged.
struct PeerRules {
  const ProgramOptions& program;           ///< By its products: the model's, whoever computes them.
  Emulated emulated = Emulated::left_out;  ///< Whether one that runs another precision is timed all the same.
};

/// A peer on the batches of a cell.
std::unique_ptr<TimedEngine> timed_peer(PeerHost& host, const PeerTask& task, const PeerRules& rules);

/// What follows from work that was done in those operations, `flops` of a sample: the least time that it takes here.
void record_peer_work(std::span<const PeerOperation> operations, std::optional<double> flops, const MachineFacts& facts,
                      Record& record);
/// Samples of a program that was lost are not told: the rounds that it missed were the others'. An interrupt loses it
/// between two windows, and what stands before is whole.
void withdraw_samples(const PeerFailure& failure, Record& record);
/// The ledger and, where the peer runs another precision than it was asked for and that is left out, the outcome.
void record_operations(const PeerTask& task, std::span<const PeerOperation> operations, Emulated emulated,
                       const MachineFacts& facts, Record& record);

/// What a peer says it ran as a ledger.
std::vector<LedgerRow> ledger_of(std::span<const PeerOperation> operations, const std::string& precision,
                                 const MachineFacts& facts);

/// Logits that a peer gives of the batches of a set, which outlives it.
class PeerLogits : public LogitSource {
 public:
  PeerLogits(PeerHost& host, const PeerTask& task) : process_(host, task), batches_(task.batches) {}
  std::optional<TensorView> logits(const QualityBatch& batch) override;
  std::string fault() const override { return process_.failure() ? process_.failure()->reason : ""; }
  const std::optional<PeerFailure>& failure() const { return process_.failure(); }

 private:
  PeerProcess process_;
  std::span<const QualityBatch> batches_;
  bool is_started_ = false;
};

}  // namespace assay
