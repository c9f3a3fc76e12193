#include <fmt/format.h>

#include <cmath>

#include "base/units.h"
#include "quality/compare.h"
#include "quality/entities.h"
#include "studies/bench/record.h"

namespace assay {
namespace {

void set_figures(const Model& model, const QualitySet& set, const QualityRows& mine, Quality& quality) {
  if (mine.nll.empty()) return;
  const QualityFigures f = figures(mine);
  quality.scored = f.scored;
  quality.scored_windows = f.windows;
  quality.log_perplexity = f.mean_nll;
  if (predicts_tokens(model.config.task)) {
    if (std::isfinite(f.perplexity)) quality.perplexity = f.perplexity;
  } else {
    quality.correct = f.correct;
    quality.accuracy = f.accuracy;
    if (!set.entity_tags.empty()) quality.entity_f1 = entity_f1(mine, set.entity_tags);
  }
}

void set_change(const Model& model, const QualityChange& change, Difference& difference) {
  if (predicts_tokens(model.config.task)) {
    difference.delta_log_perplexity = change.delta_nll;
    difference.delta_log_perplexity_se = change.delta_nll_se;
    if (change.delta_nll_interval) {
      difference.delta_log_perplexity_low = change.delta_nll_interval->low;
      difference.delta_log_perplexity_high = change.delta_nll_interval->high;
    }
  } else {
    difference.accuracy_change = change.accuracy_change;
    difference.accuracy_change_low = change.accuracy_interval.low;
    difference.accuracy_change_high = change.accuracy_interval.high;
    difference.mcnemar_p = change.mcnemar_p;
  }
}

Difference divergence_of(const Model& model, const QualityRows& baseline, const QualityRows& mine) {
  const QualityChange change = compare(baseline, mine);
  Difference difference{.kl_mean = change.kl_mean,
                        .kl_p999 = change.kl_p999,
                        .top1_agreement = change.top1_agreement,
                        .max_logit_difference = change.largest_difference};
  if (!mine.nll.empty()) set_change(model, change, difference);
  return difference;
}

/// As far as the set was scored.
void set_label_correlation(const QualityRows& mine, const std::vector<double>& numbers, Quality& quality) {
  if (numbers.empty() || mine.scores.empty() || mine.outputs != 1) return;
  const std::vector<double> scores(mine.scores.begin(), mine.scores.end());
  const auto labels = std::span(numbers).first(std::min(numbers.size(), scores.size()));
  quality.label_pearson = pearson(scores, labels);
  quality.label_spearman = pearson(ranks(scores), ranks(labels));
}

/// Of scores there is their difference from the baseline's.
Difference score_difference_of(const ScoreChange& change, Quality& quality) {
  quality.scored = change.rows;
  if (!change.undefined.empty())
    quality.quality_status.detail += (quality.quality_status.detail.empty() ? "" : "; ") + change.undefined;
  return {.score_pearson = change.pearson,
          .score_spearman = change.spearman,
          .score_difference = change.largest_difference};
}

QualityStatus status_of(const QualityData& data, const QualityOutcome& outcome) {
  const Evaluation& evaluation = outcome.evaluation;
  if (outcome.mine.non_finite) return {QualityState::not_given, "the output is not finite"};
  if (evaluation.tokens > 0 && data.status.state == QualityState::scored && outcome.mine.nll.empty())
    return {QualityState::nothing_to_score, fmt::format("no token of {} has a next one", data.set->data)};
  if (evaluation.is_whole()) return data.status;
  return interrupted_after({evaluation.tokens, evaluation.tokens_of_set});
}

}  // namespace

void record_quality(const Model& model, const QualityData& data, const QualityOutcome& outcome, Record& record) {
  const QualityRows& mine = outcome.mine;
  Quality& quality = record.quality.emplace();
  quality = {
      .quality_status = status_of(data, outcome), .quality_data = data.set->data, .protocol = data.set->protocol};
  if (mine.non_finite) {
    record.outcome.status = Status::not_finite;
    record.outcome.reason = fmt::format("on {}, {}", data.set->data, words(*mine.non_finite));
    return;
  }
  if (outcome.evaluation.tokens == 0) return;
  quality.logits_hash = fmt::format("{:016x}", mine.logits_hash);
  set_figures(model, *data.set, mine, quality);
  set_label_correlation(mine, data.set->numbers, quality);
  const bool has_baseline = outcome.baseline != nullptr && !outcome.baseline->non_finite;
  if (has_baseline && mine.scores.empty()) record.difference = divergence_of(model, *outcome.baseline, mine);
  if (has_baseline && !mine.scores.empty())
    record.difference = score_difference_of(compare_scores(*outcome.baseline, mine), quality);
  if (!has_baseline && !mine.scores.empty())
    quality.quality_status = {QualityState::not_given,
                              fmt::format("no scores of {} to compare with", record.setting.baseline)};
}

}  // namespace assay
