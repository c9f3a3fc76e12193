#pragma once

#include <string>

#include "measure/sampling.h"
#include "quality/compare.h"
#include "results/record.h"
#include "studies/bench.h"
#include "studies/bench_group.h"
#include "studies/quality_data.h"

namespace assay {

/// What every record of one model shares.
Record blank_record(const Model& model, const BenchRequest& request, const MachineFacts& facts);
/// Version of assay and how it was built.
std::string build_words();
/// Median, percentiles, mean, deviation and interval.
void record_statistics(const std::vector<double>& samples_ms, Record& record);
/// This machine's bandwidth, caches and matmul rates.
void record_peaks(const MachineFacts& facts, Record& record);
/// The part of them that `peak_share` is of: MatmulPeak::product_gflops, and what kind of peak that is.
void record_product_peak(const MatmulPeak& peak, DType accumulator, Record& record);
/// What a plan's matrix products take where each runs at its operand's rate; products whose operand has no rate take
/// no time. Absent where none has.
struct LeastTimes {
  std::optional<double> instruction_ms;
  std::optional<double> matmul_ms;
};
/// Of one phase, or of all.
LeastTimes least_times(const Plan& plan, const MachineFacts& facts, std::optional<Phase> phase = std::nullopt);
/// Multiplications and additions of the model's matrix products in one pass, attention's included, masked parts not:
/// of the primitive operations, whatever a precision or fusion makes of them.
double model_flops(const Model& model, const ProgramOptions& options, Extent extent);
/// What each operation reads and writes, in their order.
std::vector<double> operation_bytes(const Plan& plan);
/// What is known before anything runs, besides `flops`: bytes, memory, ledger, this machine's peaks.
void describe_plan(const Plan& plan, const Instance& instance, const MachineFacts& facts, Record& record);
/// What a series is read beside.
struct SeriesContext {
  const Series& baseline;  ///< Of the same group; no baseline where it is not named so.
  const Power& power;
  const BenchRequest& request;
};
/// Latency, energy, conditions and speed-up over the baseline's series, round by round.
void record_series(const Series& series, const SeriesContext& context, Record& record);

struct QualityOutcome {
  const Evaluation& evaluation;
  const Quality* baseline;  ///< Null where there is none to compare with.
  const Quality& mine;
};
/// Quality figures and the change from the baseline's.
void record_quality(const Model& model, const QualityData& data, const QualityOutcome& outcome, Record& record);
/// Says of rows that were not scored or not metered why: they did not run, or the run was interrupted.
void close_record(const BenchRequest& request, Record& record);

/// Hands over records that stand, judged as they will be in the end: rules look at one cell at a time.
void keep_judged(const BenchCallbacks& callbacks, std::vector<Record> records);

}  // namespace assay
