#include "studies/peers/timed_engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/clock.h"
#include "kernels/verdict.h"
#include "results/derive.h"
#include "studies/shared/plan_record.h"
#include "tensor/precision.h"

namespace assay {
namespace {

const char* kind_word(PeerOperation::Kind kind) {
  return kind == PeerOperation::Kind::linear      ? "linear"
         : kind == PeerOperation::Kind::attention ? "attention"
                                                  : "other";
}

/// As `kernels/verdict.h` has it of what is not its own: whether the dtype that was asked for multiplies, in an
/// instruction.
Verdict verdict_of_peer(const PeerOperation& one, const Precision& asked, const MachineFacts& facts) {
  if (instruction_set(one.operand, facts) == nullptr) return Verdict::emulated;
  const bool is_linear = one.kind == PeerOperation::Kind::linear;
  return is_linear && !multiplies_as_asked(asked, one.operand) ? Verdict::emulated : Verdict::native;
}

LedgerRow ledger_row(const PeerOperation& one, const Precision& asked, const MachineFacts& facts) {
  LedgerRow row;
  row.path = kind_word(one.kind);
  row.operation = one.operation;
  row.role = name(Role::other);
  row.requested = asked.name;
  row.kernel = one.kernel.empty() ? one.operation : one.kernel;
  row.operand = row.stored = one.operand;
  row.accumulator = one.operand == DType::s8 ? DType::s32 : DType::f32;
  row.verdict = verdict_of_peer(one, asked, facts);
  row.evidence = fmt::format("{} of them in a pass, by {}", one.count, one.evidence);
  return row;
}

/// The fastest of the dtypes that its products are in: no pass of them takes less.
const MatmulPeak* fastest_peak(std::span<const PeerOperation> operations, const MachineFacts& facts) {
  const MatmulPeak* fastest = nullptr;
  for (const PeerOperation& one : operations) {
    const MatmulPeak* const peak = facts.peak(one.operand);
    const bool is_faster =
        peak != nullptr && (fastest == nullptr || peak->instruction_high_gflops() > fastest->instruction_high_gflops());
    if (is_faster) fastest = peak;
  }
  return fastest;
}

/// Why the first of its products with weights is emulated; empty where each has an instruction here.
std::string no_instruction_words(std::span<const PeerOperation> operations, const MachineFacts& facts) {
  for (const PeerOperation& one : operations) {
    if (one.kind == PeerOperation::Kind::linear && instruction_set(one.operand, facts) == nullptr)
      return fmt::format("computes {} in {}, for which this processor has no instruction", one.operation,
                         name(one.operand));
  }
  return "";
}

/// What the products of a pass take at least.
void record_least_times(std::span<const PeerOperation> operations, const MachineFacts& facts, Evidence& evidence) {
  const MatmulPeak* const peak = fastest_peak(operations, facts);
  if (peak == nullptr || !evidence.flops) return;
  if (peak->instruction_high_gflops() > 0)
    evidence.instruction_ms = *evidence.flops / peak->instruction_high_gflops() * 1e-6;
  if (peak->matmul_gflops > 0) evidence.matmul_ms = *evidence.flops / peak->matmul_gflops * 1e-6;
}

class TimedPeer : public TimedEngine {
 public:
  TimedPeer(PeerHost& host, const PeerTask& task, const PeerRules& rules)
      : host_(host), task_(task), rules_(rules), process_(host, task) {}

  bool prepare(Record& record) override {
    const double before_s = now_s();
    if (const auto failure = process_.prepare()) {
      record.outcome.status = failure->status;
      record.outcome.reason = fmt::format("{} {}", task_.peer.name, failure->reason);
      return false;
    }
    record.latency.made().prepare_ms = (now_s() - before_s) * 1e3;
    record_operations(task_, process_.operations(), rules_.emulated, host_.facts(), record);
    return record.outcome.status == Status::ok;
  }

  /// It is stopped where a group of runs has been read: nobody else runs before that.
  Subject subject(const std::string& name) override {
    return {.name = name,
            .run = [this] { process_.run(); },
            .read_result =
                [this] {
                  process_.stop();
                  return process_.last_value();
                },
            .take =
                [this](std::size_t batch) {
                  process_.take(batch);
                  process_.stop();
                },
            .last_run_s = [this] { return process_.last_run_s(); },
            .is_lost = [this] { return process_.is_lost(); }};
  }

  double processor_s() const override { return process_.processor_s(); }

  void describe(Record& record) override {
    if (const auto peak = process_.peak_bytes()) record.memory.made().resident_bytes = peak;
    const bool is_finite = record.latency->samples == 0 || process_.is_finite();
    if (const auto& failure = process_.failure()) withdraw_samples(*failure, record);
    if (record.latency->samples == 0) return;
    record_peer_work(process_.operations(), mean_flops(*record.latency), host_.facts(), record);
    if (is_finite) return;
    record.outcome.status = Status::not_finite;
    record.outcome.reason = "on the ids that were timed, its logits hold NaN or infinity";
  }

 private:
  /// Of the batches that were drawn: positions are of them in turn; else of the one that there is.
  double mean_flops(const Latency& latency) const {
    std::map<std::int64_t, double> of_length;
    const auto flops_of = [&](std::int64_t length) {
      const auto [known, is_new] = of_length.try_emplace(length, 0.0);
      if (is_new)
        known->second = model_flops(host_.model(), rules_.program, {task_.batches.front().extent.batch, length});
      return known->second;
    };
    if (latency.raw_positions.empty()) return flops_of(task_.batches.front().extent.seq);
    double sum = 0;
    const auto rows = static_cast<double>(task_.batches.front().extent.batch);
    for (const double positions : latency.raw_positions) sum += flops_of(static_cast<std::int64_t>(positions / rows));
    return sum / static_cast<double>(latency.raw_positions.size());
  }

  PeerHost& host_;
  PeerTask task_;
  PeerRules rules_;
  PeerProcess process_;
};

}  // namespace

void withdraw_samples(const PeerFailure& failure, Record& record) {
  if (failure.status == Status::interrupted && record.latency->samples > 0) return;
  record.outcome.status = failure.status;
  record.outcome.reason = failure.reason;
  record.latency = Latency{.prepare_ms = record.latency->prepare_ms};
  record.speedup.reset();
  record.energy.reset();
  record.circumstances.reset();
  record.rates = {};
}

void record_peer_work(std::span<const PeerOperation> operations, std::optional<double> flops, const MachineFacts& facts,
                      Record& record) {
  record.evidence.flops = flops;
  record_least_times(operations, facts, record.evidence);
  set_peaks(facts, record.evidence);
  record.rates = rates_of(record);
}

void record_operations(const PeerTask& task, std::span<const PeerOperation> operations, Emulated emulated,
                       const MachineFacts& facts, Record& record) {
  record.evidence.ledger = ledger_of(operations, task.precision, facts);
  const bool says =
      std::ranges::any_of(operations, [](const PeerOperation& one) { return one.kind == PeerOperation::Kind::linear; });
  if (!says) {
    record.outcome.status = Status::unsupported;
    record.outcome.reason = fmt::format("{} does not say what its products with weights ran in", task.peer.name);
    return;
  }
  const std::string narrower = other_precision_words(task.precision, operations);
  const std::string other = narrower.empty() ? no_instruction_words(operations, facts) : narrower;
  if (other.empty() || emulated == Emulated::included) return;
  record.outcome.status = Status::emulated;
  record.outcome.reason = fmt::format("{} {}; --emulated measures it", task.peer.name, other);
}

std::unique_ptr<TimedEngine> timed_peer(PeerHost& host, const PeerTask& task, const PeerRules& rules) {
  return std::make_unique<TimedPeer>(host, task, rules);
}

std::vector<LedgerRow> ledger_of(std::span<const PeerOperation> operations, const std::string& precision,
                                 const MachineFacts& facts) {
  const Precision& asked = find_precision(precision);
  std::vector<LedgerRow> ledger;
  ledger.reserve(operations.size());
  for (const PeerOperation& one : operations) ledger.push_back(ledger_row(one, asked, facts));
  return ledger;
}

std::optional<TensorView> PeerLogits::logits(const QualityBatch& batch) {
  if (!is_started_) process_.prepare();
  is_started_ = true;
  return process_.logits(static_cast<std::size_t>(&batch - batches_.data()));
}

}  // namespace assay
