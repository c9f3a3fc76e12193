#include "studies/tune/points.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include "program/passes.h"
#include "runtime/instance.h"
#include "studies/bench/request.h"
#include "studies/generation_bench/request.h"
#include "studies/shared/engine.h"
#include "studies/tune/options.h"
#include "tensor/baseline_precision.h"
#include "tensor/precision.h"

namespace assay {
namespace {

/// Whether it is what one row is by itself, which is a point of its own.
bool is_uniform(const Scoring& scoring, const Recipe& recipe) {
  if (!recipe.layers.empty()) return false;
  return !recipe.kv || recipe.kv == scoring.kept_dtype({.name = "uniform", .rest = recipe.rest});
}

/// The cheapest that pass, then the cheapest of what loses most beyond them.
std::vector<const TriedMix*> finalists(const Scoring& scoring, const std::vector<TriedMix>& tried,
                                       const LossLimit& limit) {
  std::vector<const TriedMix*> sorted;
  sorted.reserve(tried.size());
  for (const TriedMix& one : tried) sorted.push_back(&one);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const TriedMix* a, const TriedMix* b) { return a->foretold.cost < b->foretold.cost; });
  std::vector<const TriedMix*> chosen;
  std::size_t beyond = 0;
  std::size_t within = 0;
  for (const TriedMix* one : sorted) {
    if (is_uniform(scoring, one->recipe)) continue;
    const bool passes = loss_of(limit.kind, one->quality) <= limit.most;
    std::size_t& count = passes ? within : beyond;
    if (count >= (passes ? most_finalists : most_beyond)) continue;
    ++count;
    chosen.push_back(one);
  }
  return chosen;
}

TunePoint uniform_point(const std::string& precision, const std::optional<UnitQuality>& searched) {
  TunePoint point{.precision = precision, .searched = searched};
  point.recipe = {.name = precision, .rest = &find_precision(precision)};
  return point;
}

/// What differs in nothing has none.
UnitQuality without_intervals(UnitQuality quality) {
  quality.kl.interval.reset();
  if (quality.delta_nll) quality.delta_nll->interval.reset();
  if (quality.accuracy_change) quality.accuracy_change->interval.reset();
  return quality;
}

/// Some of the points, together. False after an interrupt.
bool score_points(const Scoring& scoring, const QualitySet& held_out, std::span<TunePoint> points) {
  std::vector<std::unique_ptr<Instance>> own;
  std::vector<Instance*> instances;
  own.reserve(points.size());
  instances.reserve(points.size());
  for (TunePoint& point : points) {
    own.push_back(scoring.instance(point.recipe));
    instances.push_back(own.back().get());
  }
  const auto qualities = scoring.qualities(held_out, instances);
  if (!qualities) return false;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const bool is_itself = points[i].precision == baseline_precision().name;
    points[i].held_out = is_itself ? without_intervals((*qualities)[i]) : (*qualities)[i];
    points[i].model_bytes = own[i]->model_bytes();
  }
  return true;
}

}  // namespace

std::vector<TunePoint> points_of(const Scoring& scoring, const ModelSensitivity& study, const Tuning& tuning) {
  const StudiedModel& subject = scoring.subject();
  std::vector<TunePoint> points;
  points.push_back(uniform_point(baseline_precision().name, UnitQuality{}));  // It differs from itself in nothing.
  for (std::size_t row = 0; row < subject.rows.size(); ++row)
    points.push_back(
        uniform_point(subject.rows[row].row.name, study.rows_by_unit[(row + 1) * subject.units.size() - 1].only));
  for (const LeftOut& one : tuning.left_out) {
    if (one.has_point) points.push_back(uniform_point(one.precision, one.searched));
  }
  int mixes = 0;
  for (const TriedMix* mix : finalists(scoring, tuning.tried, tuning.limit)) {
    TunePoint point{.recipe = mix->recipe, .is_mix = true, .searched = mix->quality};
    point.recipe.name = fmt::format("mix-{}", ++mixes);
    point.precision = precision_name(point.recipe);
    points.push_back(std::move(point));
  }
  return points;
}

bool score_held_out(const Scoring& scoring, const QualitySet& held_out, Tuning& tuning) {
  const auto& progress = scoring.subject().callbacks.progress;
  for (std::size_t begin = 0; begin < tuning.points.size(); begin += scored_together) {
    const std::size_t count = std::min(scored_together, tuning.points.size() - begin);
    if (progress)
      progress(
          fmt::format("scoring {} of {} points on rows that were not searched on", begin + count, tuning.points.size()),
          0);
    if (!score_points(scoring, held_out, std::span(tuning.points).subspan(begin, count))) return false;
  }
  return true;
}

Document timed_points(const TuneRequest& request, const Tuning& tuning, const MachineFacts& facts,
                      const StudyCallbacks& callbacks) {
  BenchRequest bench_request;
  bench_request.models = {request.model};
  bench_request.engine = request.engine;
  bench_request.engine.overrides.clear();
  for (const TunePoint& point : tuning.points) {
    bench_request.precisions.push_back(point.precision);
    if (point.is_mix) bench_request.engine.recipes.push_back(point.recipe);
  }
  bench_request.batches = {request.batch};
  bench_request.seqs = {request.seq};
  bench_request.seconds = request.timed_seconds;
  bench_request.quality = QualityMode::none;
  bench_request.model_options = request.model_options;
  bench_request.energy = request.energy;
  bench_request.root = request.root;
  const FactsSource known = [&] { return facts; };
  if (request.aim != Aim::decode) return bench(bench_request, known, callbacks);
  bench_request.seqs.clear();
  return generation_bench({bench_request, {request.seq}, {request.new_tokens}, {0}}, known, callbacks);
}

}  // namespace assay
