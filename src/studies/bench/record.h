#pragma once

#include <string>

#include "measure/sampling.h"
#include "quality/compare.h"
#include "results/record.h"
#include "studies/bench/group.h"
#include "studies/bench/quality_data.h"
#include "studies/bench/request.h"

namespace assay {

/// What every record of one model shares.
Setting setting_of(const Model& model, const BenchRequest& request, const MachineFacts& facts);
/// What every record of a device and a seed shares.
Setting setting_on(const std::string& device, std::uint64_t seed, const MachineFacts& facts);
/// The same of a model's name, size and weights as stored.
void set_model(const Model& model, Setting& setting);
/// Version of assay and how it was built.
std::string build_words();

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

/// This machine's bandwidth and caches, and its matmul rates for the ledger that `evidence` has.
void set_peaks(const MachineFacts& facts, Evidence& evidence);
/// The part of them that `peak_share` is of: MatmulPeak::product_gflops, and what kind of peak that is.
void set_product_peak(const MatmulPeak& peak, DType accumulator, Evidence& evidence);
/// What is known before anything runs, besides `flops`: bytes, ledger, this machine's peaks.
Evidence evidence_of(const Plan& plan, const Instance& instance, const MachineFacts& facts);
/// `resident_bytes`: of a process of its own, where it ran in one.
MemoryUse memory_of(const Plan& plan, const Instance& instance, std::optional<std::int64_t> resident_bytes = {});

/// The samples with their median, percentiles, mean, deviation and interval.
Latency latency_of(const std::vector<double>& samples_ms);
/// What a series is read beside.
struct SeriesContext {
  const Series& baseline;  ///< Of the same group; no baseline where it is not named so.
  const Power& power;
  std::uint64_t seed = 0;                 ///< Of the bootstrap.
  double asked_width = 0;                 ///< Of the median's interval; 0: none was asked.
  std::optional<double> prepare_ms = {};  ///< What came before the first run.
};
/// Latency, circumstances, energy and speed-up over the baseline's series, round by round; the outcome where there are
/// no samples, and the rates.
void record_series(const Series& series, const SeriesContext& context, Record& record);

struct QualityOutcome {
  const Evaluation& evaluation;
  const QualityRows* baseline;  ///< Null where there is none to compare with.
  const QualityRows& mine;
};
/// Quality figures and the change from the baseline's; an output that is not finite becomes the outcome.
void record_quality(const Model& model, const QualityData& data, const QualityOutcome& outcome, Record& record);
/// Says of rows that were not scored or not metered why: they did not run, or the run was interrupted.
void close_record(const BenchRequest& request, Record& record);

/// Hands over records that stand, judged as they will be in the end: rules look at one cell at a time.
void keep_judged(const StudyCallbacks& callbacks, std::vector<Record> records);

}  // namespace assay
