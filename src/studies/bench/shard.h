#pragma once

#include <span>
#include <vector>

#include "studies/bench/request.h"

namespace assay {

/// What of a grid of so many cells, models' behind one another, this process measures: the request is left with its
/// part of the precisions, and knows whose the baseline's rows are. Throws a user error for what cannot be divided.
ShardPart keep_part(BenchRequest& request, std::int64_t cells);

/// Takes away what is not of the part: cells (`cells` of each model's entry), and models that are left without.
template <typename Entry>
void keep_cells(const IndexRange& kept, std::vector<Entry>& entries) {
  std::int64_t number = 0;
  for (Entry& entry : entries) {
    std::erase_if(entry.cells, [&](const auto& /*cell*/) { return !kept.holds(number++); });
  }
  std::erase_if(entries, [](const Entry& entry) { return entry.cells.empty(); });
}

}  // namespace assay
