#include <fmt/format.h>

#include "base/units.h"
#include "experiments/bench_record.h"
#include "quality/compare.h"

namespace assay {
namespace {

void record_figures(const Model& model, const Quality& mine, Record& record) {
  if (mine.nll.empty()) return;
  const QualityFigures f = figures(mine);
  record.scored = f.scored;
  record.scored_windows = f.windows;
  record.log_perplexity = f.mean_nll;
  if (model.config.task == Task::language_model) {
    record.perplexity = f.perplexity;
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
  if (evaluation.tokens == 0) return;
  if (data.status == "scored" && outcome.mine.nll.empty()) {
    record.quality_status = fmt::format("nothing to score: no token of {} has a next one", data.set->data);
  }
  record.logits_hash = fmt::format("{:016x}", outcome.mine.logits_hash);
  record_figures(model, outcome.mine, record);
  if (outcome.baseline != nullptr) record_change(model, compare(*outcome.baseline, outcome.mine), record);
}

}  // namespace assay
