#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/clock.h"
#include "base/error.h"
#include "base/units.h"
#include "studies/sensitivity/run.h"

namespace assay {
namespace {

constexpr int forecast_runs = 3;

Change change_of(double value, const std::optional<ChangeInterval>& interval) {
  Change change{value};
  if (interval) change.interval = Interval{interval->low, interval->high};
  return change;
}

/// What a batch takes with fp32 and every precision as a whole, weights held: the median of runs of the first batch
/// after one that reads them.
double seconds_a_batch(const StudiedModel& subject) {
  QualitySet first = subject.set;
  first.batches.resize(1);
  std::vector<Instance*> all = {subject.base.get()};
  for (const auto& instance : subject.whole) all.push_back(instance.get());
  evaluate(all, first, {});
  std::vector<double> seconds;
  for (int run = 0; run < forecast_runs && !is_set(subject.callbacks.interrupted); ++run) {
    const double begin_s = now_s();
    const Evaluation evaluation = evaluate(all, first, {});
    if (evaluation.qualities[0].non_finite)
      fail_user("{}: {} in fp32: nothing can be compared", subject.model.name,
                words(*evaluation.qualities[0].non_finite));
    seconds.push_back((now_s() - begin_s) / static_cast<double>(all.size()));
  }
  return seconds.empty() ? 0 : median(seconds);
}

/// Cuts the set to what an earlier run scored, to what was asked, or to what the budget allows.
void choose_batches(StudiedModel& subject, std::int64_t earlier, double batch_s, double passes) {
  auto& batches = subject.set.batches;
  if (earlier > 0) return batches.resize(std::min(batches.size(), static_cast<std::size_t>(earlier)));
  std::size_t count = 0;
  std::int64_t tokens = 0;
  const double most =
      std::max(1.0, std::floor(subject.request.seconds / std::max(1e-9, batch_s * std::max(1.0, passes))));
  while (count < batches.size()) {
    const bool enough =
        subject.request.tokens > 0 ? tokens >= subject.request.tokens : static_cast<double>(count) >= most;
    if (enough) break;
    tokens += batches[count].extent.batch * batches[count].extent.seq;
    ++count;
  }
  batches.resize(count);
}

const char* chosen_by(const StudiedModel& subject, const Restored& restored) {
  if (restored.batches > 0) return "as in the earlier file";
  return subject.request.tokens > 0 ? "--tokens" : "by --seconds";
}

void say_forecast(const StudiedModel& subject, const ModelSensitivity& study, const Restored& restored) {
  if (!subject.callbacks.say) return;
  subject.callbacks.say(fmt::format(
      "{}: {} units in {} precision{}, each alone and all but it, over {} of {} batches ({} rows, {}): about {:.0f} s",
      subject.model.name, subject.units.size() - 1, subject.rows.size(), subject.rows.size() == 1 ? "" : "s",
      study.batches, study.batches_there, study.rows, chosen_by(subject, restored), study.predicted_s));
}

/// One unit in every precision, alone and all but it.
std::vector<std::unique_ptr<Instance>> instances_for(const StudiedModel& subject, const ModelUnit& unit) {
  std::vector<std::unique_ptr<Instance>> instances;
  instances.reserve(2 * subject.rows.size());
  const Fusion fusion = subject.request.engine.fusion;
  for (const PrecisionChoice& plain : subject.rows) {
    instances.push_back(subject.instance(with_unit(subject.fp32, unit, plain.row), fusion));
    instances.push_back(subject.instance(with_unit(plain, unit, subject.fp32.row), fusion));
  }
  return instances;
}

UnitRow& row_for(ModelSensitivity& study, std::size_t unit, std::size_t units, std::size_t precision) {
  return study.rows_by_unit[precision * units + unit];
}

bool is_restored(const StudiedModel& subject, const Restored& restored, const ModelUnit& unit) {
  return std::all_of(subject.rows.begin(), subject.rows.end(),
                     [&](const PrecisionChoice& row) { return restored.units.contains({unit.name, row.name()}); });
}

void restore(const StudiedModel& subject, const Restored& restored, std::size_t unit, ModelSensitivity& study) {
  for (std::size_t p = 0; p < subject.rows.size(); ++p) {
    const auto& [only, all_but] = restored.units.at({subject.units[unit].name, subject.rows[p].name()});
    UnitRow& row = row_for(study, unit, subject.units.size(), p);
    row.only = only;
    row.all_but = all_but;
    ++study.restored;
  }
}

/// False after an interrupt.
bool measure_unit(const StudiedModel& subject, std::size_t unit, ModelSensitivity& study) {
  const bool is_whole = subject.units[unit].kind == UnitKind::whole;
  std::vector<std::unique_ptr<Instance>> own;
  if (!is_whole) own = instances_for(subject, subject.units[unit]);
  std::vector<Instance*> instances;
  for (const auto& instance : is_whole ? subject.whole : own) instances.push_back(instance.get());
  const auto qualities = qualities_of(subject, subject.set, instances);
  if (!qualities) return false;
  for (std::size_t p = 0; p < subject.rows.size(); ++p) {
    UnitRow& row = row_for(study, unit, subject.units.size(), p);
    row.only = (*qualities)[is_whole ? p : 2 * p];
    if (!is_whole) row.all_but = (*qualities)[2 * p + 1];
  }
  return true;
}

/// At the pace of the units that were measured; at the forecast's before there is one.
double left_s(double predicted_s, double spent_s, std::ptrdiff_t measured, std::ptrdiff_t of) {
  if (measured == 0) return std::max(0.0, predicted_s - spent_s);
  return spent_s / static_cast<double>(measured) * static_cast<double>(of - measured);
}

}  // namespace

std::optional<std::vector<UnitQuality>> qualities_of(const StudiedModel& subject, const QualitySet& set,
                                                     const std::vector<Instance*>& instances) {
  std::vector<Instance*> all = {subject.base.get()};
  all.insert(all.end(), instances.begin(), instances.end());
  EvaluateOptions options;
  options.interrupted = subject.callbacks.interrupted;
  return qualities_against_first(set, evaluate(all, set, options));
}

std::optional<std::vector<UnitQuality>> qualities_against_first(const QualitySet& set, const Evaluation& evaluation) {
  if (!evaluation.is_whole()) return std::nullopt;
  const std::vector<QualityRows>& all = evaluation.qualities;
  std::vector<UnitQuality> qualities;
  qualities.reserve(all.size() - 1);
  for (std::size_t i = 1; i < all.size(); ++i) qualities.push_back(quality_of(set, all[0], all[i]));
  return qualities;
}

std::vector<std::int32_t> kl_windows(const QualitySet& set, std::size_t rows) {
  std::vector<std::int32_t> windows;
  windows.reserve(static_cast<std::size_t>(row_count(set)));
  const bool one_a_row = rows == static_cast<std::size_t>(row_count(set));
  for (const QualityBatch& batch : set.batches) {
    const auto seq = static_cast<std::ptrdiff_t>(batch.extent.seq);
    for (std::int64_t row = 0; row < batch.extent.batch; ++row) {
      const auto begin = batch.mask.begin() + (batch.mask.empty() ? 0 : row * seq);
      windows.push_back(one_a_row            ? 1
                        : batch.mask.empty() ? static_cast<std::int32_t>(seq)
                                             : static_cast<std::int32_t>(seq - std::count(begin, begin + seq, 0)));
    }
  }
  return windows;
}

UnitQuality quality_of(const QualitySet& set, const QualityRows& baseline, const QualityRows& mine) {
  UnitQuality quality;
  if (mine.non_finite) {
    quality.failure = words(*mine.non_finite);
    return quality;
  }
  const WindowMean kl = mean_over_windows(mine.kl, kl_windows(set, mine.kl.size()));
  quality.kl = change_of(kl.value, kl.interval);
  if (quality.kl.interval) quality.kl.interval->low = std::max(0.0, quality.kl.interval->low);
  if (mine.nll.empty()) return quality;
  const QualityChange change = compare(baseline, mine);
  quality.delta_nll = change_of(change.delta_nll, change.delta_nll_interval);
  quality.accuracy_change = change_of(change.accuracy_change, change.accuracy_interval);
  return quality;
}

void measure_directly(StudiedModel& subject, const Restored& restored, ModelSensitivity& study) {
  const auto open = std::count_if(subject.units.begin(), subject.units.end(), [&](const ModelUnit& unit) {
    return unit.kind != UnitKind::whole && !is_restored(subject, restored, unit);
  });
  const double runs = static_cast<double>(open) * static_cast<double>(2 * subject.rows.size() + 1);
  study.batches_there = static_cast<std::int64_t>(subject.set.batches.size());
  const double batch_s = seconds_a_batch(subject);
  choose_batches(subject, restored.batches, batch_s, runs);
  study.batches = static_cast<std::int64_t>(subject.set.batches.size());
  study.rows = row_count(subject.set);
  study.tokens = 0;
  for (const QualityBatch& batch : subject.set.batches) study.tokens += batch.extent.batch * batch.extent.seq;
  study.predicted_s = batch_s * static_cast<double>(study.batches) * runs;
  say_forecast(subject, study, restored);
  const double begin_s = now_s();
  std::ptrdiff_t measured = 0;
  for (std::size_t done = 0; done < subject.units.size(); ++done) {
    const std::size_t unit = subject.units.size() - 1 - done;  // The whole first, then the roles, which are few.
    if (is_restored(subject, restored, subject.units[unit])) {
      restore(subject, restored, unit, study);
      continue;
    }
    if (subject.callbacks.progress) {
      subject.callbacks.progress(fmt::format("{}: {}", subject.model.name, subject.units[unit].name),
                                 left_s(study.predicted_s, now_s() - begin_s, measured, open));
    }
    if (is_set(subject.callbacks.interrupted) || !measure_unit(subject, unit, study)) {
      study.is_partial = true;
      break;
    }
    if (subject.units[unit].kind != UnitKind::whole) ++measured;
  }
  study.took_s = now_s() - begin_s;
}

}  // namespace assay
