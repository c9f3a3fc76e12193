#pragma once

#include "hardware/facts.h"
#include "quality/compare.h"
#include "results/record.h"
#include "studies/bench/request.h"
#include "studies/shared/quality_data.h"

namespace assay {

struct QualityOutcome {
  const Evaluation& evaluation;
  const QualityRows* baseline;  ///< Null where there is none to compare with.
  const QualityRows& mine;
};
/// Quality figures and the change from the baseline's; an output that is not finite becomes the outcome.
void record_quality(const Model& model, const QualityData& data, const QualityOutcome& outcome, Record& record);
/// What every record of one model shares.
Setting bench_setting(const Model& model, const BenchRequest& request, const MachineFacts& facts);

/// Says which part of a grid a row is of; and of one that was not scored or not metered why: it did not run, or the run
/// was interrupted.
void close_record(const BenchRequest& request, Record& record);

}  // namespace assay
