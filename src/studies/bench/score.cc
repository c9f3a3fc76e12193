#include "studies/bench/score.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"

#include "base/error.h"
#include "base/interrupt.h"
#include "quality/decoding.h"
#include "studies/bench/record.h"
#include "studies/shared/hindrance.h"

namespace assay {
namespace {

/// Those that have a row to score.
std::vector<const BenchGroup::Member*> scored_members(const BenchGroup& group, const std::vector<Record>& records) {
  std::vector<const BenchGroup::Member*> scored;
  for (const BenchGroup::Member& member : group.members()) {
    const bool ran = std::any_of(records.begin(), records.end(), [&](const Record& record) {
      return record.setting.precision == member.blank.setting.precision && record.outcome.status == Status::ok;
    });
    if (member.instance && ran) scored.push_back(&member);
  }
  return scored;
}

bool is_baseline(const BenchGroup::Member& member) {
  return member.blank.setting.precision == member.blank.setting.baseline;
}

Evaluation evaluate_all(const BenchGroup& group, const std::vector<const BenchGroup::Member*>& members,
                        const QualitySet& set) {
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
  instances.reserve(members.size());
  for (const BenchGroup::Member* member : members) instances.push_back(member->instance.get());
  const EngineOptions& engine = group.request().engine;
  return with_memory_errors([&] {
    return engine.cache ? evaluate_decoding(instances, set, {engine.cache->capacity, engine.graphs, options})
                        : evaluate(instances, set, options);
  });
}

/// Why nothing is scored; absent where `evaluation` holds the figures.
std::optional<QualityStatus> try_to_score(const BenchGroup& group, const QualityData& data,
                                          const std::vector<const BenchGroup::Member*>& members,
                                          Evaluation& evaluation) {
  if (!data.set) return data.status;
  const EngineOptions& engine = group.request().engine;
  // Through a cache each position is the last one once.
  if (engine.program.logits == LogitRows::last && !engine.cache) return QualityStatus{QualityState::last_position_only};
  if (members.empty()) return std::nullopt;
  try {
    evaluation = evaluate_all(group, members, *data.set);
  } catch (const OutOfMemory& e) {
    return QualityStatus{QualityState::oom, e.what()};
  } catch (const Error& e) {
    if (e.code() != ExitCode::lacking) throw;
    return QualityStatus{QualityState::unsupported, e.what()};
  }
  return std::nullopt;
}

}  // namespace

Scores score(const BenchGroup& group, const QualityData& data, std::vector<Record>& records) {
  Scores scores{scored_members(group, records), {}};
  const auto& members = scores.members;
  const std::optional<QualityStatus> failure = try_to_score(group, data, members, scores.evaluation);
  const bool has_baseline = !failure && !members.empty() && is_baseline(*members.front());
  if (has_baseline) scores.baseline = &scores.evaluation.qualities[0];
  for (Record& record : records) {
    const auto found = std::find_if(members.begin(), members.end(), [&](const BenchGroup::Member* member) {
      return member->blank.setting.precision == record.setting.precision;
    });
    if (found == members.end() || record.outcome.status != Status::ok) continue;
    if (record.setting.mode == Mode::prefill) {
      record.quality.made();  // Not asked: that of decoding stands for both.
    } else if (failure) {
      record.quality.made().quality_status = *failure;
    } else {
      const auto index = static_cast<std::size_t>(found - members.begin());
      record_quality(group.model(), data, {scores.evaluation, scores.baseline, scores.evaluation.qualities[index]},
                     record);
    }
  }
  return scores;
}

}  // namespace assay
