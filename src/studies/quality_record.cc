#include <fmt/format.h>

#include <cmath>

#include "base/units.h"
#include "quality/compare.h"
#include "studies/bench_record.h"

namespace assay {
namespace {

void record_figures(const Model& model, const Quality& mine, Record& record) {
  if (mine.nll.empty()) return;
  const QualityFigures f = figures(mine);
  record.scored = f.scored;
  record.scored_windows = f.windows;
  record.log_perplexity = f.mean_nll;
  if (model.config.task == Task::language_model) {
    if (std::isfinite(f.perplexity)) record.perplexity = f.perplexity;
  } else {
    record.correct = f.correct;
    record.accuracy = f.accuracy;
  }
}

void record_change(const Model& model, const QualityChange& change, Record& record) {
  record.kl_mean = change.kl_mean;
  record.kl_p999 = change.kl_p999;
  record.top1_agreement = change.top1_agreement;
  record.max_logit_difference = change.largest_difference;
  if (!record.scored) return;
  if (model.config.task == Task::language_model) {
    record.delta_log_perplexity = change.delta_nll;
    record.delta_log_perplexity_se = change.delta_nll_se;
    if (change.delta_nll_interval) {
      record.delta_log_perplexity_low = change.delta_nll_interval->low;
      record.delta_log_perplexity_high = change.delta_nll_interval->high;
    }
  } else {
    record.accuracy_change = change.accuracy_change;
    record.accuracy_change_low = change.accuracy_interval.low;
    record.accuracy_change_high = change.accuracy_interval.high;
    record.mcnemar_p = change.mcnemar_p;
  }
}

void record_scores(const ScoreChange& change, Record& record) {
  record.scored = change.rows;
  record.score_difference = change.largest_difference;
  record.score_pearson = change.pearson;
  record.score_spearman = change.spearman;
  if (!change.undefined.empty()) record.quality_status += "; " + change.undefined;
}

void record_comparison(const Model& model, const QualityOutcome& outcome, Record& record) {
  if (outcome.mine.scores.empty()) return record_change(model, compare(*outcome.baseline, outcome.mine), record);
  record_scores(compare_scores(*outcome.baseline, outcome.mine), record);
}

void record_not_finite(const NonFiniteRun& run, Record& record) {
  record.status = Status::not_finite;
  record.reason = fmt::format("on {}, {}", record.quality_data.value_or("its data"), words(run));
  record.quality_status = "not given: the output is not finite";
}

}  // namespace

void record_quality(const Model& model, const QualityData& data, const QualityOutcome& outcome, Record& record) {
  const Evaluation& evaluation = outcome.evaluation;
  record.quality_data = data.set->data;
  record.protocol = data.set->protocol;
  record.quality_status = data.status;
  if (!evaluation.is_whole()) {
    record.quality_status = fmt::format("interrupted after {} of {} tokens", format_count(evaluation.tokens),
                                        format_count(evaluation.tokens_of_set));
  }
  if (outcome.mine.non_finite) return record_not_finite(*outcome.mine.non_finite, record);
  if (evaluation.tokens == 0) return;
  if (data.status == "scored" && outcome.mine.nll.empty()) {
    record.quality_status = fmt::format("nothing to score: no token of {} has a next one", data.set->data);
  }
  record.logits_hash = fmt::format("{:016x}", outcome.mine.logits_hash);
  record_figures(model, outcome.mine, record);
  if (outcome.baseline != nullptr && !outcome.baseline->non_finite) return record_comparison(model, outcome, record);
  if (!outcome.mine.scores.empty())
    record.quality_status = fmt::format("not given: no scores of {} to compare with", record.baseline);
}

}  // namespace assay
