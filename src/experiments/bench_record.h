#pragma once

#include <string>

#include "experiments/bench.h"
#include "experiments/quality_data.h"
#include "measure/sampling.h"
#include "quality/compare.h"
#include "results/record.h"

namespace assay {

/// What every record of one model shares.
Record blank_record(const Model& model, const BenchRequest& request, const MachineFacts& facts);
/// What is known before anything runs: FLOPs, bytes, memory, ledger, this machine's peaks.
void describe_plan(const Plan& plan, const Instance& instance, const MachineFacts& facts, Record& record);
/// Latency, energy, conditions and speed-up over the baseline's series, round by round.
void record_series(const Series& series, const Series& baseline, const std::string& energy_status,
                   const BenchRequest& request, Record& record);
/// Quality figures and the change from the baseline's, where there is one (else null).
void record_quality(const Model& model, const QualityData& data, const Quality* baseline, const Quality& mine,
                    Record& record);

}  // namespace assay
