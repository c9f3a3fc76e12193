#include "studies/generation_bench/generating_peer.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/clock.h"
#include "results/identity.h"
#include "studies/generation_bench/record.h"

namespace assay {
namespace {

PeerTask generation_task(const BenchGroup& group, const BenchGroup::Member& member, const GenerationCell& cell,
                         const std::vector<QualityBatch>& batches) {
  return {.peer = find_peer(member.contender.engine),
          .precision = member.contender.precision,
          .batches = batches,
          .logits = LogitRows::last,
          .generation = PeerTokens{cell.depth, cell.prompt_tokens, cell.new_tokens},
          .most_s = group.request().peer_seconds};
}

/// Of a turn's time beyond its tokens': above, it did something else too.
constexpr double beside_tokens = 0.1;

}  // namespace

GeneratingPeer::GeneratingPeer(const BenchGroup& group, const BenchGroup::Member& member, const GenerationCell& cell,
                               std::size_t place, const std::vector<QualityBatch>& batches)
    : group_(group),
      cell_(cell),
      place_(place),
      name_(row_name(member.blank.setting)),
      task_(generation_task(group, member, cell, batches)),
      process_(*group.peers(), task_) {}

bool GeneratingPeer::prepare(std::vector<Record>& records) {
  if (group_.callbacks().progress)
    group_.callbacks().progress(fmt::format("{} {}: prepare", group_.shown_name(), name_), 0);
  const double begin_s = now_s();
  const auto failure = process_.prepare();
  for (const std::size_t at : {place_, place_ + 1}) {
    Record& record = records[at];
    if (failure) {
      record.outcome.status = failure->status;
      record.outcome.reason = fmt::format("{} {}", task_.peer.name, failure->reason);
    } else {
      record_operations(task_, operations_of(record), group_.request().emulated, group_.facts(), record);
    }
  }
  if (records[place_].outcome.status != Status::ok) return false;
  records[place_].latency.made().prepare_ms = (now_s() - begin_s) * 1e3;
  return true;
}

/// It is stopped where a group of runs has been read.
Subject GeneratingPeer::subject(std::function<void()> run, std::function<double()> run_s) {
  return {.name = name_,
          .run = std::move(run),
          .read_result =
              [this] {
                process_.stop();
                if (decoded_) note_tokens();
                return process_.last_value();
              },
          .last_run_s = std::move(run_s),
          .is_lost = [this] { return process_.is_lost(); }};
}

Subject GeneratingPeer::prefill_subject() {
  return subject(
      [this] {
        decoded_ = false;
        process_.prefill();
      },
      [this] { return process_.last_run_s(); });
}

Subject GeneratingPeer::decode_subject() {
  return subject(
      [this] {
        decoded_ = true;
        process_.decode();
      },
      [this] {
        const std::vector<double>& ms = process_.token_ms();
        const auto first = std::min<std::int64_t>(cell_.first_tokens(), std::ssize(ms));
        return std::accumulate(ms.begin() + first, ms.end(), 0.0) * 1e-3;
      });
}

void GeneratingPeer::note_tokens() {
  const std::vector<double>& ms = process_.token_ms();
  token_ms_.push_back(ms);
  const double tokens_s = std::accumulate(ms.begin(), ms.end(), 0.0) * 1e-3;
  reads_prompt_too_ = reads_prompt_too_ || process_.last_run_s() > (1 + beside_tokens) * tokens_s;
}

const std::vector<PeerOperation>& GeneratingPeer::operations_of(const Record& record) const {
  return record.setting.mode == Mode::decode ? process_.decode_operations() : process_.operations();
}

void GeneratingPeer::record(const BenchGroup& group, const PhaseSeries& phase, Record& record) {
  const std::size_t before = std::min(token_ms_.size(), 1 + phase.series.warm_up_ms.size());
  const std::size_t count = std::min(phase.series.raw_ms.size(), token_ms_.size() - before);
  const auto first = token_ms_.begin() + static_cast<std::ptrdiff_t>(before);
  const std::vector<std::vector<double>> rounds(first, first + static_cast<std::ptrdiff_t>(count));
  record_generated(group, {cell_, nullptr, phase.series, phase.baseline, rounds}, record);
  if (const auto peak = process_.peak_bytes()) record.memory.made().resident_bytes = peak;
  if (record.setting.mode == Mode::decode && reads_prompt_too_ && record.energy->energy_j)
    record.energy =
        Energy{.energy_status = {EnergyState::no_meter, " of new tokens alone: what was metered reads the prompt too"}};
  const bool is_finite = record.latency->samples == 0 || process_.is_finite();
  if (!is_finite) {
    record.outcome.status = Status::not_finite;
    record.outcome.reason = "the logits behind the last token hold NaN or infinity";
  }
  if (const auto& failure = process_.failure()) withdraw_samples(*failure, record);
}

void GeneratingPeer::record_work(const MachineFacts& facts, std::optional<double> flops, Record& record) const {
  if (record.latency->samples > 0) record_peer_work(operations_of(record), flops, facts, record);
}

}  // namespace assay
