#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "quality/evaluate.h"
#include "results/record.h"
#include "studies/bench/request.h"

namespace assay {

/// What the passes of a cell are given. Without batches it is one of random ids, made when a plan has been found to
/// fit.
struct CellInputs {
  Extent extent;  ///< Rows, and ids in the longest of them as given: the shape in records.
  std::vector<QualityBatch>
      batches;                       ///< Without targets; all have a mask where one needs it. The longest is the first.
  std::string data;                  ///< "dev.tsv, a sentence a row [1f3a…]"
  std::int64_t given_positions = 0;  ///< Rows times length before padding was skipped, over all batches.
  std::int64_t rows_left = 0;        ///< Behind the last whole batch: not timed.
};

/// Whether passes are timed on the user's rows.
bool times_data(const BenchRequest& request);
/// The lengths that are asked for; 0: of the data, as its rows are.
std::vector<std::int64_t> asked_lengths(const BenchRequest& request);

/// The inputs of a cell of `batch` rows with at most `seq` ids each (0: rows as they are; of a text: windows of so
/// many). Throws a user error for data that the model cannot be run on, for fewer rows than a batch, and for a shape
/// that is longer than the model's context.
CellInputs cell_inputs(const Model& model, const BenchRequest& request, Extent asked);

/// Says in the ledger which share of the given positions was left out.
void remark_skipped(const CellInputs& inputs, Evidence& evidence);
/// What of `setting` says what is timed.
void set_inputs(const BenchRequest& request, const CellInputs& inputs, Setting& setting);

}  // namespace assay
