#include "quality/evaluate.h"

#include <algorithm>
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

}  // namespace

Evaluation evaluate(std::span<Instance* const> instances, const QualitySet& set, const EvaluateOptions& options) {
  Evaluation evaluation;
  std::vector<QualityRows>& qualities = evaluation.qualities;
  qualities.resize(instances.size());
  for (const QualityBatch& batch : set.batches) evaluation.tokens_of_set += real_tokens(batch);
  std::vector<CurrentPlan> plans;
  std::optional<std::int64_t> free_bytes = options.free_bytes;
  for (Instance* instance : instances) plans.emplace_back(*instance, free_bytes);
  for (std::size_t b = 0; b < set.batches.size(); ++b) {
    if (is_set(options.interrupted)) break;
    if (options.progress) options.progress(static_cast<double>(b) / static_cast<double>(set.batches.size()));
    const QualityBatch& batch = set.batches[b];
    const BatchOf of{set, batch};
    std::optional<ScoredBatch> baseline;
    for (std::size_t i = 0; i < instances.size(); ++i) {
      QualityRows& quality = qualities[i];
      if (quality.non_finite) continue;
      ScoredBatch mine = score(plans[i].logits(batch), of, baseline ? &*baseline : nullptr);
      if (!is_finite(mine, of)) {
        quality = QualityRows{};
        quality.non_finite = find_origin(plans[i].plan(), of);
        continue;
      }
      add_hashes(mine, of, quality);
      if (add_numbers(mine, set.judged, quality)) continue;
      add_targets(mine, set, batch, quality);
      if (i == 0) {
        baseline = std::move(mine);
        add_divergence(*baseline, *baseline, of, quality);
      } else if (baseline) {
        add_divergence(mine, *baseline, of, quality);
      }
    }
    evaluation.tokens += real_tokens(batch);
  }
  for (QualityRows& quality : qualities) count_windows(set, quality);
  return evaluation;
}

}  // namespace assay
