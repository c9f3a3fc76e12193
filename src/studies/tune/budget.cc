#include "studies/tune/budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/clock.h"
#include "studies/tune/aims.h"

namespace assay {
namespace {

constexpr std::size_t fewest_searched = 1;
constexpr std::size_t fewest_held_out = 2;
/// A forward and a backward pass, in forward passes.
constexpr double passes_of_gradients = 3;

const UnitRow& whole_of(const StudiedModel& subject, const ModelSensitivity& study, std::size_t row) {
  return study.rows_by_unit[(row + 1) * subject.units.size() - 1];
}

/// Of the whole model, in the aim's unit.
double whole_cost(const StudiedModel& subject, const ModelSensitivity& study, Aim aim, std::size_t row) {
  return (*whole_of(subject, study, row).cost).*facts_of(aim).low;
}

double fp32_cost(const StudiedModel& subject, const ModelSensitivity& study, Aim aim) {
  return (*whole_of(subject, study, 0).cost).*facts_of(aim).fp32;
}

/// Absent where it is not measured.
std::optional<double> whole_kl(const StudiedModel& subject, const ModelSensitivity& study, std::size_t row) {
  const std::optional<UnitQuality>& quality = whole_of(subject, study, row).only;
  if (!quality || !quality->failure.empty()) return std::nullopt;
  return quality->kl.value;
}

/// Why the row cannot help; empty where it can.
std::string reason_against(const StudiedModel& subject, Aim aim, const ModelSensitivity& study, std::size_t row) {
  const AimFacts& facts = facts_of(aim);
  const double cost = whole_cost(subject, study, aim, row);
  if (cost >= fp32_cost(subject, study, aim)) return fmt::format("no {} than fp32", facts.better);
  const std::optional<double> kl = whole_kl(subject, study, row);
  for (std::size_t other = 0; kl && other < subject.rows.size(); ++other) {
    const std::optional<double> other_kl = whole_kl(subject, study, other);
    if (other == row || !other_kl) continue;
    const double other_cost = whole_cost(subject, study, aim, other);
    const bool is_better = other_cost < cost || (other_cost == cost && (*other_kl < *kl || other < row));
    if (is_better && *other_kl <= *kl)
      return fmt::format("{} is {} and loses {}", subject.rows[other].name(),
                         other_cost < cost ? facts.better : facts.as_good, *other_kl < *kl ? "less" : "no more");
  }
  return "";
}

/// What a batch takes in fp32 once weights are held.
double seconds_of_batch(const StudiedModel& subject) {
  QualitySet first = subject.set;
  first.batches.resize(1);
  qualities_of(subject, first, {});
  const double begin_s = now_s();
  qualities_of(subject, first, {});
  return now_s() - begin_s;
}

std::size_t within(double seconds, double seconds_each, std::size_t fewest, std::size_t all) {
  const double fit = std::floor(seconds / std::max(1e-9, seconds_each));
  const double most = static_cast<double>(all);
  return std::min(all, std::max(fewest, static_cast<std::size_t>(std::clamp(fit, 0.0, most))));
}

}  // namespace

std::vector<LeftOut> drop_useless_rows(StudiedModel& subject, Aim aim, ModelSensitivity& study) {
  std::vector<LeftOut> left_out;
  for (std::size_t row = 0; row < subject.rows.size(); ++row) {
    if (std::string why = reason_against(subject, aim, study, row); !why.empty())
      left_out.push_back({subject.rows[row].name(), std::move(why)});
  }
  const auto units = static_cast<std::ptrdiff_t>(subject.units.size());
  for (std::size_t i = subject.rows.size(); i-- > 0;) {
    const std::string name = subject.rows[i].name();
    if (std::none_of(left_out.begin(), left_out.end(), [&](const LeftOut& one) { return one.precision == name; }))
      continue;
    const auto at = static_cast<std::ptrdiff_t>(i);
    subject.rows.erase(subject.rows.begin() + at);
    subject.whole.erase(subject.whole.begin() + at);
    study.rows_by_unit.erase(study.rows_by_unit.begin() + at * units, study.rows_by_unit.begin() + (at + 1) * units);
  }
  return left_out;
}

ScoredBatches batches_within(const TuneRequest& request, const StudiedModel& subject, const QualitySet& held_out,
                             const ModelSensitivity& study, std::size_t finalists) {
  constexpr TuneShares shares;
  const double batch_s = seconds_of_batch(subject);
  const auto rows = static_cast<double>(subject.rows.size());
  double passes = 0;  // of all rows, in those of fp32
  for (std::size_t row = 0; row < subject.rows.size(); ++row)
    passes += whole_cost(subject, study, Aim::latency, row) / fp32_cost(subject, study, Aim::latency);
  const double estimates = 1 + passes + 2 + 2 * rows + passes_of_gradients;  // rows; rests and tied heads; gradients
  const double points = rows + 1 + static_cast<double>(finalists);
  const double each = std::max(1.0, passes / std::max(1.0, rows));
  const double timing_s = points * request.timed_seconds;
  ScoredBatches scored;
  scored.searched =
      within(shares.estimates * request.seconds, estimates * batch_s, fewest_searched, subject.set.batches.size());
  const double end_batch_s = points * (each + 0.25) * batch_s;  // four share a run of fp32
  scored.held_out =
      within(shares.end * request.seconds - timing_s, end_batch_s, fewest_held_out, held_out.batches.size());
  scored.end_s = timing_s + end_batch_s * static_cast<double>(scored.held_out);
  return scored;
}

}  // namespace assay
