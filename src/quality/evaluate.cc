#include "quality/evaluate.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "base/error.h"
#include "base/interrupt.h"
#include "quality/scored_batch.h"

namespace assay {
namespace {

/// The plan of one instance for one shape at a time: data cut by a protocol comes in runs of one shape, and arenas are
/// large.
class CurrentPlan {
 public:
  /// `free_bytes`: what all plans may still take.
  CurrentPlan(Instance& instance, std::optional<std::int64_t>& free_bytes)
      : instance_(instance), free_bytes_(free_bytes) {}

  /// Valid until the next call.
  OutputView logits(const QualityBatch& batch) {
    const AttentionMask mask = batch.mask.empty() ? AttentionMask::absent : AttentionMask::given;
    if (!plan_ || plan_->options().mask != mask || plan_->options().extent.batch != batch.extent.batch ||
        plan_->options().extent.seq != batch.extent.seq) {
      replace({.extent = batch.extent, .mask = mask});
    }
    plan_->set_inputs(batch.ids, batch.mask, batch.token_types);
    plan_->run();
    return plan_->output("logits");
  }
  /// That of the last call.
  const Plan& plan() const { return *plan_; }

 private:
  void replace(PlanOptions options) {
    if (free_bytes_ && plan_) *free_bytes_ += plan_->arena_bytes();
    plan_.reset();
    const std::int64_t held = instance_.resident_bytes();
    options.free_bytes = free_bytes_;
    plan_ = std::make_unique<Plan>(instance_, options);
    if (free_bytes_) *free_bytes_ -= plan_->arena_bytes() + instance_.resident_bytes() - held;
  }

  Instance& instance_;
  std::optional<std::int64_t>& free_bytes_;
  std::unique_ptr<Plan> plan_;
};

/// The set's windows in the place of rows, as many as were scored.
void count_windows(const QualitySet& set, QualityRows& quality) {
  if (set.windows.empty()) return;
  quality.windows.clear();
  auto left = static_cast<std::int32_t>(quality.nll.size());
  for (const std::int32_t targets : set.windows) {
    if (left <= 0) return;
    quality.windows.push_back(std::min(targets, left));
    left -= targets;
  }
}

/// What made the value is not known here.
NonFiniteRun untraced(const ScoredBatch& scored, const BatchOf& of) {
  NonFiniteRun run{.output = "logits", .found = {}, .path = "", .operation = "", .first = {}, .was_run_again = false};
  std::vector<float> scratch;
  for (std::size_t row = 0; row < scored.rows(); ++row) {
    if (scored.scores[row].finite || !of.counts(row, scored.rows())) continue;
    const std::span<const float> values = scored.row(row, scratch);
    const auto found = std::find_if(values.begin(), values.end(), [](float value) { return !std::isfinite(value); });
    run.found = {*found, {static_cast<std::int64_t>(row), found - values.begin()}};
    break;
  }
  return run;
}

/// Runs everything on a set, batch by batch.
class Evaluator {
 public:
  Evaluator(std::span<Instance* const> instances, const QualitySet& set, const EvaluateOptions& options)
      : instances_(instances), set_(set), options_(options), free_bytes_(options.free_bytes) {
    for (Instance* instance : instances) plans_.emplace_back(*instance, free_bytes_);
    evaluation_.qualities.resize(instances.size() + options.others.size());
    evaluation_.faults.resize(options.others.size());
    for (const QualityBatch& batch : set.batches) evaluation_.tokens_of_set += real_tokens(batch);
  }

  Evaluation run() {
    const std::size_t batches = set_.batches.size();
    for (std::size_t b = 0; b < batches && !is_set(options_.interrupted); ++b) {
      if (options_.progress) options_.progress(static_cast<double>(b) / static_cast<double>(batches));
      run_batch(set_.batches[b]);
      evaluation_.tokens += real_tokens(set_.batches[b]);
    }
    for (QualityRows& quality : evaluation_.qualities) count_windows(set_, quality);
    return std::move(evaluation_);
  }

 private:
  void run_batch(const QualityBatch& batch) {
    const BatchOf of{set_, batch};
    baseline_.reset();
    for (std::size_t i = 0; i < instances_.size(); ++i) {
      if (!evaluation_.qualities[i].non_finite) score_instance(i, of);
    }
    for (std::size_t i = 0; i < options_.others.size(); ++i) {
      const QualityRows& quality = evaluation_.qualities[instances_.size() + i];
      if (evaluation_.faults[i].empty() && !quality.non_finite) score_other(i, of);
    }
  }

  void score_instance(std::size_t i, const BatchOf& of) {
    QualityRows& quality = evaluation_.qualities[i];
    ScoredBatch mine = score(plans_[i].logits(of.batch), of, baseline());
    if (!is_finite(mine, of)) {
      quality = QualityRows{};
      quality.non_finite = find_origin(plans_[i].plan(), of);
      return;
    }
    add(mine, of, quality);
    if (i == 0) {
      baseline_ = std::move(mine);
      if (compares()) add_divergence(*baseline_, *baseline_, of, quality);
    } else if (baseline_ && compares()) {
      add_divergence(mine, *baseline_, of, quality);
    }
  }

  void score_other(std::size_t i, const BatchOf& of) {
    QualityRows& quality = evaluation_.qualities[instances_.size() + i];
    const std::optional<TensorView> logits = options_.others[i]->logits(of.batch);
    std::string& fault = evaluation_.faults[i];
    if (!logits) fault = options_.others[i]->fault();
    if (logits && baseline_ && logits->shape != baseline_->logits.tensor.shape)
      fault = "its logits are " + to_string(logits->shape) + " where " + to_string(baseline_->logits.tensor.shape) +
              " are asked";
    if (!fault.empty()) {
      quality = QualityRows{};
      return;
    }
    const ScoredBatch mine = score({*logits, logits->shape.back()}, of, baseline());
    if (!is_finite(mine, of)) {
      quality = QualityRows{};
      quality.non_finite = untraced(mine, of);
      return;
    }
    add(mine, of, quality);
    if (baseline_ && compares()) add_divergence(mine, *baseline_, of, quality);
  }

  void add(const ScoredBatch& mine, const BatchOf& of, QualityRows& quality) const {
    add_hashes(mine, of, quality);
    if (!add_numbers(mine, set_.judged, quality)) add_targets(mine, set_, of.batch, quality);
  }

  const ScoredBatch* baseline() const { return baseline_ ? &*baseline_ : nullptr; }
  /// Where numbers are judged, the caller compares them.
  bool compares() const { return set_.judged != Judged::scores && set_.judged != Judged::similarities; }

  std::span<Instance* const> instances_;
  const QualitySet& set_;
  const EvaluateOptions& options_;
  std::optional<std::int64_t> free_bytes_;
  std::vector<CurrentPlan> plans_;
  std::optional<ScoredBatch> baseline_;
  Evaluation evaluation_;
};

}  // namespace

Evaluation evaluate(std::span<Instance* const> instances, const QualitySet& set, const EvaluateOptions& options) {
  return Evaluator(instances, set, options).run();
}

}  // namespace assay
