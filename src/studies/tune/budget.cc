#include "studies/tune/budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "studies/tune/aims.h"
#include "studies/tune/caches.h"

namespace assay {
namespace {

constexpr std::size_t fewest_searched = 1;
constexpr std::size_t fewest_held_out = 2;
/// A forward and a backward pass, in forward passes.
constexpr double passes_of_gradients = 3;
/// Of a run of fp32, which points that are scored together share.
constexpr double share_of_fp32 = 0.25;
/// What is measured of rows in a few rounds, operation by operation, tells no smaller differences apart.
constexpr double cost_margin = 0.1;

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

double fp32_runs(const StudiedModel& subject, const ModelSensitivity& study, std::size_t row) {
  const UnitCost& cost = *whole_of(subject, study, row).cost;
  return cost.low_ms / cost.fp32_ms;
}

/// Absent where it is not measured.
std::optional<Change> whole_kl(const StudiedModel& subject, const ModelSensitivity& study, std::size_t row) {
  const std::optional<UnitQuality>& quality = whole_of(subject, study, row).only;
  if (!quality || !quality->failure.empty()) return std::nullopt;
  return quality->kl;
}

/// Beyond what runs of one program differ by.
bool takes_more(double cost, double than, const AimFacts& facts) {
  return facts.is_counted ? cost > than : cost > (1 + cost_margin) * than;
}
bool takes_as_much(double cost, double than, const AimFacts& facts) {
  return facts.is_counted ? cost >= than : takes_more(cost, than, facts);
}

/// By their intervals; without them nothing is known.
bool loses_more(const std::optional<Change>& kl, const std::optional<Change>& than) {
  return kl && than && kl->interval && than->interval && kl->interval->low > than->interval->high;
}

std::string reason_against(std::span<const WholeRow> rows, const WholeRow& row, double cost_of_fp32,
                           const AimFacts& facts) {
  if (takes_as_much(row.cost, cost_of_fp32, facts)) return fmt::format("no {} than fp32", facts.better);
  for (const WholeRow& other : rows) {
    if (!takes_as_much(row.cost, other.cost, facts) || !loses_more(row.kl, other.kl)) continue;
    const char* how = takes_more(row.cost, other.cost, facts) ? facts.better : facts.as_good;
    return fmt::format("{} is {} and loses less", other.name, how);
  }
  return "";
}

std::vector<WholeRow> whole_rows(const StudiedModel& subject, const ModelSensitivity& study, Aim aim) {
  std::vector<WholeRow> rows;
  rows.reserve(subject.rows.size());
  for (std::size_t row = 0; row < subject.rows.size(); ++row)
    rows.push_back({subject.rows[row].name(), whole_cost(subject, study, aim, row), whole_kl(subject, study, row)});
  return rows;
}

void erase_row(std::size_t row, StudiedModel& subject, ModelSensitivity& study) {
  const auto units = static_cast<std::ptrdiff_t>(subject.units.size());
  const auto at = static_cast<std::ptrdiff_t>(row);
  subject.rows.erase(subject.rows.begin() + at);
  subject.left_out.push_back(std::move(subject.whole[row]));
  subject.whole.erase(subject.whole.begin() + at);
  study.rows_by_unit.erase(study.rows_by_unit.begin() + at * units, study.rows_by_unit.begin() + (at + 1) * units);
}

/// What a batch takes in fp32 once weights are held.
double seconds_of_batch(const Scoring& scoring) {
  QualitySet first = scoring.subject().set;
  first.batches.resize(1);
  scoring.qualities(first, {});
  const double begin_s = now_s();
  scoring.qualities(first, {});
  return now_s() - begin_s;
}

std::size_t within(double seconds, double seconds_each, std::size_t fewest, std::size_t all) {
  const double fit = std::floor(seconds / std::max(1e-9, seconds_each));
  const double most = static_cast<double>(all);
  return std::min(all, std::max(fewest, static_cast<std::size_t>(std::clamp(fit, 0.0, most))));
}

/// What points take in the end: all their timing, and a batch.
struct PointCosts {
  double timing_s = 0;
  double batch_s = 0;
  double least_s() const { return timing_s + static_cast<double>(fewest_held_out) * batch_s; }
  void add(const TuneRequest& request, double batch_of_fp32_s, double runs_of_fp32) {
    timing_s += request.timed_seconds;
    batch_s += (runs_of_fp32 + share_of_fp32) * batch_of_fp32_s;
  }
};

/// Rows that are left out get a point as far as there is room, the fastest first.
void choose_points(const TuneRequest& request, double batch_of_fp32_s, std::vector<LeftOut>& left_out,
                   PointCosts& points) {
  constexpr TuneShares shares;
  std::stable_sort(left_out.begin(), left_out.end(),
                   [](const LeftOut& a, const LeftOut& b) { return a.fp32_runs < b.fp32_runs; });
  for (LeftOut& one : left_out) {
    PointCosts with_it = points;
    with_it.add(request, batch_of_fp32_s, one.fp32_runs);
    one.has_point = with_it.least_s() <= shares.end * request.seconds;
    if (one.has_point) points = with_it;
  }
}

}  // namespace

std::vector<std::string> reasons_against(std::span<const WholeRow> rows, double cost_of_fp32, Aim aim) {
  std::vector<std::string> reasons;
  reasons.reserve(rows.size());
  for (const WholeRow& row : rows) reasons.push_back(reason_against(rows, row, cost_of_fp32, facts_of(aim)));
  return reasons;
}

std::vector<LeftOut> drop_useless_rows(StudiedModel& subject, Aim aim, ModelSensitivity& study) {
  if (subject.rows.empty()) return {};
  const std::vector<std::string> reasons =
      reasons_against(whole_rows(subject, study, aim), fp32_cost(subject, study, aim), aim);
  std::vector<LeftOut> left_out;
  for (std::size_t row = reasons.size(); row-- > 0;) {
    if (reasons[row].empty()) continue;
    left_out.push_back(
        {subject.rows[row].name(), reasons[row], fp32_runs(subject, study, row), whole_of(subject, study, row).only});
    erase_row(row, subject, study);
  }
  std::reverse(left_out.begin(), left_out.end());
  return left_out;
}

ScoredBatches batches_within(const TuneRequest& request, const Scoring& scoring, const QualitySet& held_out,
                             const ModelSensitivity& study, std::size_t finalists, std::vector<LeftOut>& left_out) {
  constexpr TuneShares shares;
  const StudiedModel& subject = scoring.subject();
  const double batch_s = seconds_of_batch(scoring);
  const auto rows = static_cast<double>(subject.rows.size());
  double passes = 0;  // of all rows, in those of fp32
  PointCosts points;
  points.add(request, batch_s, 1);
  for (std::size_t row = 0; row < subject.rows.size(); ++row) {
    const double runs = fp32_runs(subject, study, row);
    // A row that is fast at a token need not be at windows.
    passes += request.aim == Aim::decode ? std::max(1.0, runs) : runs;
    points.add(request, batch_s, std::max(1.0, runs));
  }
  for (std::size_t mix = 0; mix < finalists; ++mix) points.add(request, batch_s, std::max(1.0, passes / rows));
  choose_points(request, batch_s, left_out, points);
  const double caches = request.aim == Aim::decode ? std::size(kept_dtypes) : 0;
  const double estimates = 1 + passes + 2 + 2 * rows + passes_of_gradients + caches;  // 2: rests and tied heads
  ScoredBatches scored;
  scored.searched =
      within(shares.estimates * request.seconds, estimates * batch_s, fewest_searched, subject.set.batches.size());
  scored.held_out =
      within(shares.end * request.seconds - points.timing_s, points.batch_s, fewest_held_out, held_out.batches.size());
  scored.end_s = points.timing_s + points.batch_s * static_cast<double>(scored.held_out);
  return scored;
}

}  // namespace assay
