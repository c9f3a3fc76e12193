#include "studies/bench/score.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"

#include "base/error.h"
#include "base/interrupt.h"
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
  return with_memory_errors([&] { return evaluate(instances, set, options); });
}

/// Why nothing is scored; absent where `evaluation` holds the figures.
std::optional<QualityStatus> try_to_score(const BenchGroup& group, const QualityData& data,
                                          const std::vector<const BenchGroup::Member*>& members,
                                          Evaluation& evaluation) {
  if (!data.set) return data.status;
  if (group.request().engine.program.logits == LogitRows::last) return QualityStatus{QualityState::last_position_only};
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

void score(const BenchGroup& group, const QualityData& data, std::vector<Record>& records) {
  const auto members = scored_members(group, records);
  Evaluation evaluation;
  const std::optional<QualityStatus> failure = try_to_score(group, data, members, evaluation);
  for (Record& record : records) {
    const auto found = std::find_if(members.begin(), members.end(), [&](const BenchGroup::Member* member) {
      return member->blank.setting.precision == record.setting.precision;
    });
    if (found == members.end() || record.outcome.status != Status::ok) continue;
    if (failure) {
      record.quality.made().quality_status = *failure;
      continue;
    }
    const bool has_baseline = members.front()->blank.setting.precision == record.setting.baseline;
    const QualityRows* baseline = has_baseline ? &evaluation.qualities[0] : nullptr;
    const auto index = static_cast<std::size_t>(found - members.begin());
    record_quality(group.model(), data, {evaluation, baseline, evaluation.qualities[index]}, record);
  }
}

}  // namespace assay
