#include "studies/bench/score.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"

#include "base/error.h"
#include "base/interrupt.h"
#include "quality/decoding.h"
#include "results/identity.h"
#include "studies/bench/record.h"
#include "studies/peers/timed_engine.h"
#include "studies/shared/hindrance.h"

namespace assay {
namespace {

bool has_row(const BenchGroup::Member& member, const std::vector<Record>& records) {
  return std::any_of(records.begin(), records.end(), [&](const Record& record) {
    return row_name(record.setting) == row_name(member.blank.setting) && record.outcome.status == Status::ok;
  });
}

/// Those that have a row to score.
std::vector<const BenchGroup::Member*> scored_members(const BenchGroup& group, const std::vector<Record>& records) {
  std::vector<const BenchGroup::Member*> scored;
  for (const BenchGroup::Member& member : group.members()) {
    if (member.instance && has_row(member, records)) scored.push_back(&member);
  }
  return scored;
}

/// Other programs that have a row to score.
std::vector<const BenchGroup::Member*> scored_engines(const BenchGroup& group, const std::vector<Record>& records) {
  std::vector<const BenchGroup::Member*> scored;
  if (group.request().engine.cache) return scored;  // Token by token none of them gives logits.
  for (const BenchGroup::Member& member : group.members()) {
    const bool is_peer = !member.contender.engine.empty() && member.contender.precision != no_precision;
    if (is_peer && has_row(member, records)) scored.push_back(&member);
  }
  return scored;
}

bool is_baseline_member(const BenchGroup::Member& member) {
  return is_baseline(member.blank.setting);
}

/// Each in a process of its own, which starts at its first batch.
std::vector<std::unique_ptr<PeerLogits>> logits_of(const BenchGroup& group,
                                                   const std::vector<const BenchGroup::Member*>& engines,
                                                   const QualitySet& set) {
  std::vector<std::unique_ptr<PeerLogits>> sources;
  sources.reserve(engines.size());
  for (const BenchGroup::Member* member : engines) {
    const PeerTask task{.peer = find_peer(member->contender.engine),
                        .precision = member->contender.precision,
                        .batches = set.batches,
                        .most_s = group.request().peer_seconds};
    sources.push_back(std::make_unique<PeerLogits>(*group.peers(), task));
  }
  return sources;
}

std::vector<std::optional<PeerFailure>> failures_of(const std::vector<std::unique_ptr<PeerLogits>>& sources) {
  std::vector<std::optional<PeerFailure>> failures;
  failures.reserve(sources.size());
  for (const auto& source : sources) failures.push_back(source->failure());
  return failures;
}

void evaluate_all(const BenchGroup& group, const QualitySet& set, Scores& scores) {
  EvaluateOptions options;
  options.interrupted = group.callbacks().interrupted;
  options.free_bytes = group.free_bytes(0);
  const double begin_s = now_s();
  options.progress = [&](double share) {
    if (!group.callbacks().progress) return;
    const double left_s = share > 0 ? (now_s() - begin_s) * (1 - share) / share : 0;
    group.callbacks().progress(fmt::format("{}: quality on {}", group.shown_name(), set.data), left_s);
  };
  std::vector<Instance*> instances;
  instances.reserve(scores.members.size());
  for (const BenchGroup::Member* member : scores.members) instances.push_back(member->instance.get());
  const auto others = logits_of(group, scores.engines, set);
  for (const auto& one : others) options.others.push_back(one.get());
  const EngineOptions& engine = group.request().engine;
  scores.evaluation = with_memory_errors([&] {
    return engine.cache
               ? evaluate_decoding(instances, set,
                                   {.capacity = engine.cache->capacity, .graphs = engine.graphs, .evaluate = options})
               : evaluate(instances, set, options);
  });
  scores.failures = failures_of(others);
}

/// Why nothing is scored; absent where `evaluation` holds the figures.
std::optional<QualityStatus> try_to_score(const BenchGroup& group, const QualityData& data, Scores& scores) {
  if (!data.set) return data.status;
  const EngineOptions& engine = group.request().engine;
  // Through a cache each position is the last one once.
  if (engine.program.logits == LogitRows::last && !engine.cache) return QualityStatus{QualityState::last_position_only};
  if (scores.members.empty() && scores.engines.empty()) return std::nullopt;
  try {
    evaluate_all(group, *data.set, scores);
  } catch (const OutOfMemory& e) {
    return QualityStatus{QualityState::oom, e.what()};
  } catch (const Error& e) {
    if (e.code() != ExitCode::lacking) throw;
    return QualityStatus{QualityState::unsupported, e.what()};
  }
  return std::nullopt;
}

/// Where the record's row stands among the scored; absent where it is none of them.
std::optional<std::size_t> scored_place(const Scores& scores, const Record& record) {
  std::vector<const BenchGroup::Member*> all = scores.members;
  all.insert(all.end(), scores.engines.begin(), scores.engines.end());
  const auto found = std::find_if(all.begin(), all.end(), [&](const BenchGroup::Member* member) {
    return row_name(member->blank.setting) == row_name(record.setting);
  });
  if (found == all.end()) return std::nullopt;
  return static_cast<std::size_t>(found - all.begin());
}

/// Why the row in that place has no figures; absent where it has.
std::optional<QualityStatus> fault_at(const Scores& scores, std::size_t place) {
  if (place < scores.members.size()) return std::nullopt;
  const std::size_t engine = place - scores.members.size();
  const std::string& fault = scores.evaluation.faults[engine];
  if (fault.empty()) return std::nullopt;
  const auto& failure = scores.failures[engine];
  if (!failure || failure->status == Status::unsupported) return QualityStatus{QualityState::unsupported, fault};
  if (failure->status == Status::interrupted)
    return QualityStatus{QualityState::interrupted, " before all of it was scored"};
  return QualityStatus{QualityState::not_given, fmt::format("{}: {}", name(failure->status), fault)};
}

}  // namespace

Scores score(const BenchGroup& group, const QualityData& data, std::vector<Record>& records) {
  Scores scores{scored_members(group, records), scored_engines(group, records), {}, {}};
  const std::optional<QualityStatus> failure = try_to_score(group, data, scores);
  const bool has_baseline = !failure && !scores.members.empty() && is_baseline_member(*scores.members.front());
  if (has_baseline) scores.baseline = &scores.evaluation.qualities[0];
  for (Record& record : records) {
    const std::optional<std::size_t> place = scored_place(scores, record);
    if (record.outcome.status != Status::ok) continue;
    if (!place) {
      if (record.setting.engine) record.quality.made();  // Not asked: of its logits nothing is known.
    } else if (record.setting.mode == Mode::prefill) {
      record.quality.made();  // Not asked: that of decoding stands for both.
    } else if (failure) {
      record.quality.made().quality_status = *failure;
    } else if (const auto fault = fault_at(scores, *place)) {
      record.quality.made().quality_status = *fault;
    } else {
      record_quality(group.model(), data, {scores.evaluation, scores.baseline, scores.evaluation.qualities[*place]},
                     record);
    }
  }
  return scores;
}

}  // namespace assay
