#pragma once

#include <map>
#include <string>
#include <vector>

#include "results/record.h"
#include "studies/bench/request.h"

namespace assay {

/// All that a request asks beside its grid (models, precisions, batches, sequences), as text, and which shard of it:
/// runs that agree in it may continue each other.
std::string settings_of(const BenchRequest& request);

/// What a resumed run holds already.
class KeptCells {
 public:
  explicit KeptCells(std::vector<Record> records);
  bool empty() const { return records_.empty(); }
  /// The rows of one cell, in the order of `blanks`, which carry their identity. Empty where a row is missing or was
  /// interrupted: rows of a cell are timed in turns, so that a cell is kept as a whole or measured anew.
  std::vector<Record> cell(const std::vector<Record>& blanks) const;

 private:
  std::map<std::string, Record> records_;
};

}  // namespace assay
