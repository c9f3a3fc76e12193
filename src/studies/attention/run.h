#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "program/program.h"
#include "results/record.h"
#include "statistics/statistics.h"
#include "studies/attention/request.h"
#include "studies/attention/step.h"

namespace assay {

struct AttentionCell {
  AttentionShape shape;
  Extent extent;
  std::string precision;
  Status status = Status::ok;
  std::string reason;  ///< Behind a status other than ok.
  AttentionMemory memory;
  std::optional<std::int64_t> available_bytes;  ///< oom: what there was for peak_bytes.
  double forward_flops = 0;                     ///< Masked work not counted; softmax counts five an element.
  double backward_flops = 0;
  std::optional<Summary> forward;  ///< ms; of the phase timed by itself.
  std::optional<Summary> backward;
  Record forward_record;  ///< Samples, conditions and ledger of the phase, as `bench` writes them.
  Record backward_record;
};

struct AttentionResult {
  std::vector<AttentionCell> cells;  ///< By precision, head_dim, seq, method.
  MachineFacts facts;
};

/// What of its grid is measured here.
ShardPart attention_part(GridDivision& division, const AttentionRequest& request);

/// Measures every cell, the two methods of a shape interleaved. What would not fit is an `oom` row with what it needs
/// and what there is, before anything is allocated; a cell of which one step would take longer than the budget, at the
/// rate of the largest smaller cell that was measured, is `too_slow`. After an interrupt: what was measured so far.
/// Throws user errors for shapes and precisions that cannot be.
AttentionResult attention_cells(const AttentionRequest& request, const FactsSource& facts,
                                const StudyCallbacks& callbacks);

/// The power p of the least-squares line log y = p log x + c. Absent below two different x.
std::optional<double> fitted_exponent(const std::vector<std::pair<double, double>>& points);

/// What the figures say, a sentence each: how memory grows with T, what removes it, time against FLOPs.
std::vector<std::string> attention_notes(const AttentionResult& result);

}  // namespace assay
