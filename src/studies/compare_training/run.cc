#include "studies/compare_training/run.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/clock.h"
#include "base/error.h"
#include "measure/energy.h"
#include "statistics/statistics.h"
#include "studies/shared/energy_record.h"

namespace assay {
namespace {

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// The last tenth of the steps, five at least where there are so many.
std::size_t tail_of(std::size_t steps) {
  return std::min(steps, std::max<std::size_t>(steps / 10, 5));
}

/// NaN where the training diverged.
double final_loss(const TrainingCurve& curve) {
  if (curve.diverged) return NAN;
  const auto tail = static_cast<std::ptrdiff_t>(tail_of(curve.loss.size()));
  return mean({curve.loss.end() - tail, curve.loss.end()});
}

/// The step after which the mean of the last ten losses is at or below the target; of as many as the final loss is the
/// mean of, where these are fewer: else a short training would never reach its own final loss.
std::optional<std::size_t> step_of_target(const TrainingCurve& curve, double target) {
  const std::size_t window = std::min<std::size_t>(10, tail_of(curve.loss.size()));
  for (std::size_t step = 0; step < curve.loss.size(); ++step) {
    const std::size_t first = step + 1 < window ? 0 : step + 1 - window;
    const auto begin = curve.loss.begin();
    if (mean({begin + static_cast<std::ptrdiff_t>(first), begin + static_cast<std::ptrdiff_t>(step) + 1}) <= target)
      return step;
  }
  return std::nullopt;
}

class CurveRecorder {
 public:
  CurveRecorder(std::int64_t parameters, EnergyMeter* meter) : parameters_(parameters), meter_(meter) {
    start_s_ = now_s();
    if (meter_ != nullptr) start_j_ = meter_->read_j();
  }

  void add(const TrainStatus& status) {
    const UpdateResult& update = status.last.update;
    curve.loss.push_back(status.last.loss);
    curve.gradient_norm.push_back(update.gradient_norm.value_or(NAN));  // None where the loss is not finite.
    curve.loss_scale.push_back(update.loss_scale);
    curve.lost_share.push_back(static_cast<double>(update.lost) / static_cast<double>(parameters_));
    curve.at_s.push_back(now_s() - start_s_);
    if (meter_ != nullptr) curve.at_j.push_back(meter_->read_j() - start_j_);
    curve.skipped = status.skipped;
    const bool finite = std::isfinite(status.last.loss) && std::isfinite(curve.gradient_norm.back());
    if (!finite && !curve.first_nonfinite) curve.first_nonfinite = status.steps - 1;
  }

  TrainingCurve curve;

 private:
  std::int64_t parameters_;
  EnergyMeter* meter_;
  double start_s_ = 0;
  double start_j_ = 0;
};

/// Means of blocks of the differences to the first precision over the tail; blocks of five steps, of every seed.
std::vector<double> block_differences(const PrecisionCurves& mine, const PrecisionCurves& first) {
  constexpr std::size_t block = 5;
  std::vector<double> means;
  for (std::size_t seed = 0; seed < std::min(mine.curves.size(), first.curves.size()); ++seed) {
    const std::vector<double>& a = mine.curves[seed].loss;
    const std::vector<double>& b = first.curves[seed].loss;
    const std::size_t steps = std::min(a.size(), b.size());
    for (std::size_t at = steps - tail_of(steps); at < steps; at += block) {
      const std::size_t end = std::min(at + block, steps);
      double sum = 0;
      for (std::size_t i = at; i < end; ++i) sum += a[i] - b[i];
      means.push_back(sum / static_cast<double>(end - at));
    }
  }
  return means;
}

void compare(PrecisionCurves& mine, const PrecisionCurves& first) {
  if (!mine.final_loss || !first.final_loss) return;
  Welford blocks;
  for (const double difference : block_differences(mine, first)) blocks.add(difference);
  if (blocks.count() == 0 || !std::isfinite(blocks.mean())) return;
  mine.difference = blocks.mean();
  if (blocks.count() >= 2)
    mine.difference_se = blocks.standard_deviation() / std::sqrt(static_cast<double>(blocks.count()));
}

SeedMean over_seeds(const std::vector<double>& values) {
  Welford seeds;
  for (const double value : values) seeds.add(value);
  SeedMean result = {seeds.mean(), std::nullopt};
  if (values.size() < 2) return result;
  const auto count = static_cast<double>(values.size());
  const double half = t_quantile(count - 1) * seeds.standard_deviation() / std::sqrt(count);
  result.interval = Interval{result.value - half, result.value + half};
  return result;
}

void compare_seeds(PrecisionCurves& mine, const PrecisionCurves& first) {
  if (!mine.final_loss || !first.final_loss || mine.curves.size() != first.curves.size()) return;
  if (mine.curves.size() < 2) return;
  std::vector<double> differences;
  differences.reserve(mine.curves.size());
  for (std::size_t seed = 0; seed < mine.curves.size(); ++seed)
    differences.push_back(final_loss(mine.curves[seed]) - final_loss(first.curves[seed]));
  mine.seed_difference = over_seeds(differences);
}

/// The first step also makes plans and touches memory for the first time.
void add_step_time(PrecisionCurves& mine) {
  std::vector<double> medians;
  medians.reserve(mine.curves.size());
  for (const TrainingCurve& curve : mine.curves) {
    std::vector<double> steps;
    steps.reserve(curve.at_s.size());
    for (std::size_t i = 1; i < curve.at_s.size(); ++i) steps.push_back(curve.at_s[i] - curve.at_s[i - 1]);
    if (steps.empty()) return;
    medians.push_back(median(steps));
  }
  mine.step_s = over_seeds(medians);
}

/// Where every seed ended whole and was scored there.
void add_held_out_loss(PrecisionCurves& mine) {
  if (mine.held_out.size() != mine.curves.size()) mine.held_out.clear();
  if (mine.held_out.empty()) return;
  double sum = 0;
  for (const QualityRows& rows : mine.held_out) sum += figures(rows).mean_nll;
  mine.held_out_loss = sum / static_cast<double>(mine.held_out.size());
}

void compare_held_out(PrecisionCurves& mine, const PrecisionCurves& first) {
  if (mine.held_out.empty() || mine.held_out.size() != first.held_out.size()) return;
  std::vector<double> differences(mine.held_out.front().nll.size());
  const auto seeds = static_cast<double>(mine.held_out.size());
  for (std::size_t seed = 0; seed < mine.held_out.size(); ++seed) {
    for (std::size_t i = 0; i < differences.size(); ++i)
      differences[i] += (mine.held_out[seed].nll[i] - first.held_out[seed].nll[i]) / seeds;
  }
  mine.held_out_difference = mean_over_windows(differences, mine.held_out.front().windows);
}

void reach_target(PrecisionCurves& mine, double target) {
  if (!mine.final_loss) return;
  double seconds = 0;
  double joules = 0;
  for (const TrainingCurve& curve : mine.curves) {
    const std::optional<std::size_t> step = step_of_target(curve, target);
    if (!step) return;
    seconds += curve.at_s[*step];
    if (!curve.at_j.empty()) joules += curve.at_j[*step];
  }
  const auto count = static_cast<double>(mine.curves.size());
  mine.seconds_to_target = seconds / count;
  if (!mine.curves.front().at_j.empty()) mine.joules_to_target = joules / count;
}

/// Why nothing is trained in it here; empty where it can be.
std::string why_not(const std::string& precision, const std::string& device) {
  const Precision& row = find_precision(precision);
  if (!row.gradients) return "a precision for inference";
  if (!runs_on(row, device)) return "exists on CUDA devices only";
  return "";
}

/// Nothing that ended early or in a loss that is not finite has fallen.
double fall(const PrecisionCurves& one) {
  return one.final_loss ? one.curves.front().loss.front() - *one.final_loss : 0;
}

bool has_learned(const PrecisionCurves& mine, const PrecisionCurves& first) {
  constexpr double enough = 0.5;
  const double other = &mine == &first ? 0 : fall(first);
  return fall(mine) > 0 && (!(other > 0) || fall(mine) >= enough * other);
}

void add_summary(TrainingComparison& comparison, const std::optional<double>& asked_target) {
  double worst = -INFINITY;
  for (PrecisionCurves& one : comparison.precisions) {
    if (one.curves.empty()) continue;
    std::vector<double> finals;
    for (const TrainingCurve& curve : one.curves) finals.push_back(final_loss(curve));
    if (const double loss = mean(finals); std::isfinite(loss)) one.final_loss = loss;
    add_step_time(one);
    one.learned = has_learned(one, comparison.precisions.front());
    if (one.learned) worst = std::max(worst, *one.final_loss);
    add_held_out_loss(one);
    if (&one == &comparison.precisions.front()) continue;
    compare(one, comparison.precisions.front());
    compare_seeds(one, comparison.precisions.front());
    compare_held_out(one, comparison.precisions.front());
  }
  comparison.target_loss = asked_target;
  if (!asked_target && std::isfinite(worst)) comparison.target_loss = worst;
  if (!comparison.target_loss) return;
  for (PrecisionCurves& one : comparison.precisions) reach_target(one, *comparison.target_loss);
}

/// A training that diverged is a result; whatever else ended it is thrown.
void note_end(const TrainReport& report, TrainingCurve& curve) {
  if (!report.failure) return;
  try {
    std::rethrow_exception(report.failure);
  } catch (const Diverged& error) {
    curve.diverged = true;
    if (!curve.first_nonfinite) curve.first_nonfinite = error.step - 1;
  }
}

bool is_scored_at_its_end(const TrainReport& report) {
  return report.held_out && !report.failure && report.scores.back().held_out.steps == report.total;
}

/// What all trainings of a comparison share.
struct Trainings {
  const CompareTrainingRequest& request;
  const MachineFacts& facts;
  const TrainCallbacks& callbacks;
  std::int64_t parameters;
  EnergyMeter* meter;
  Group& group;
};

TrainRequest request_of(const Trainings& all, std::int64_t seed, const PrecisionCurves& curves) {
  TrainRequest training = all.request.training;
  training.precision = curves.precision;
  training.training.storage = curves.storage;
  if (curves.reduce) training.reduce.format = *curves.reduce;
  training.training.count_lost_updates = true;
  training.training.norms = GradientNorms::always;
  training.model_options.seed += static_cast<std::uint64_t>(seed);
  return training;
}

void train_once(const Trainings& all, std::int64_t seed, PrecisionCurves& curves, TrainingComparison& comparison) {
  const TrainRequest training = request_of(all, seed, curves);
  CurveRecorder recorder(all.parameters, all.meter);
  TrainCallbacks recording = all.callbacks;
  recording.step = [&](const TrainStatus& status) {
    recorder.add(status);
    if (all.callbacks.step) all.callbacks.step(status);
  };
  try {
    const TrainReport report = with_memory_errors([&] {
      return all.request.thread_ranks > 1 ? train_as_threads(training, all.facts, recording, all.request.thread_ranks)
                                          : train(training, all.facts, recording, all.group);
    });
    comparison.data = report.data;
    comparison.steps = report.total;
    curves.held = report.held;
    if (curves.curves.empty()) curves.scales = report.scales;
    note_end(report, recorder.curve);
    if (is_scored_at_its_end(report)) curves.held_out.push_back(*report.held_out);
  } catch (const OutOfMemory& error) {
    curves.failure = error.what();
    return;
  }
  recorder.curve.seed = training.model_options.seed;
  if (recorder.curve.loss.empty())
    curves.failure = "interrupted";
  else
    curves.curves.push_back(std::move(recorder.curve));
}

/// What is trained, in the order of the table.
std::vector<PrecisionCurves> trained_ways(const CompareTrainingRequest& request, const Group& group) {
  if (!request.reduces.empty() && group.size() == 1 && request.thread_ranks <= 1)
    fail_user("--reduce: is between ranks; start them with mpirun, or ask for --ranks N");
  std::vector<std::optional<ReduceFormat>> reduces(request.reduces.begin(), request.reduces.end());
  if (reduces.empty()) reduces.push_back(std::nullopt);
  std::vector<PrecisionCurves> ways;
  for (const std::string& precision : request.precisions) {
    for (const TrainingStorage& storage : request.storages) {
      for (const std::optional<ReduceFormat>& reduce : reduces) {
        PrecisionCurves& way = ways.emplace_back();
        way.precision = precision;
        way.storage = storage;
        way.reduce = reduce;
      }
    }
  }
  return ways;
}

}  // namespace

std::string PrecisionCurves::name() const {
  std::string words = storage.words();
  if (reduce) words += fmt::format("{}reduce {}", words.empty() ? "" : ", ", reduce->name);
  return words.empty() ? precision : fmt::format("{} ({})", precision, words);
}

TrainingComparison compare_training(const CompareTrainingRequest& request, const MachineFacts& facts,
                                    const TrainCallbacks& callbacks) {
  SingleProcess alone;
  return compare_training(request, facts, callbacks, alone);
}

TrainingComparison compare_training(const CompareTrainingRequest& request, const MachineFacts& facts,
                                    const TrainCallbacks& callbacks, Group& group) {
  const EnergySource energy = find_energy_meter();
  TrainingComparison comparison;
  comparison.model = request.training.model;
  comparison.energy_status = to_text(status_of(energy));
  const std::int64_t parameters =
      open_model(request.training.model, request.training.model_options).weights.parameters();
  comparison.precisions = trained_ways(request, group);
  const Trainings trainings = {request, facts, callbacks, parameters, energy.meter.get(), group};
  for (PrecisionCurves& curves : comparison.precisions) {
    curves.failure = why_not(curves.precision, request.training.engine.device);
    for (std::int64_t seed = 0; seed < request.seeds && curves.failure.empty(); ++seed)
      train_once(trainings, seed, curves, comparison);
  }
  const auto trained = [](const PrecisionCurves& one) { return !one.curves.empty(); };
  const bool has_none = std::ranges::none_of(comparison.precisions, trained);
  if (has_none && is_set(callbacks.interrupted))
    throw Error(ExitCode::interrupted, fmt::format("{}: interrupted before anything was trained", comparison.model));
  if (has_none) fail_lacking("{}: nothing was trained: {}", comparison.model, comparison.precisions.front().failure);
  add_summary(comparison, request.target_loss);
  return comparison;
}

}  // namespace assay
