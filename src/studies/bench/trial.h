#pragma once

#include <vector>

#include "results/record.h"
#include "studies/bench/request.h"
#include "studies/shared/resident.h"

namespace assay {

/// What became of a cell that ran once in a process of its own, before it is timed in this one.
struct Trial {
  Extent extent;
  ResidentAnswer answer;
};

/// Seconds that a cell's own process may take, from its start to its answer: as asked, else 20 times the budget of a
/// cell and at least 300, since it also reads and packs the weights.
double trial_limit_s(const BenchRequest& request);
/// A cell of this request's grid; its precision and overrides are the caller's to add.
ResidentRequest trial_request(const Model& model, const BenchRequest& request, Extent extent);
/// Null where that shape was not tried.
const ResidentAnswer* find_trial(const std::vector<Trial>& trials, Extent extent);
/// The status and reason for which it must not run in this process. What a process declined in words is ok: the plan
/// made here will find the same, and names it better.
void set_outcome(const ResidentAnswer& answer, CellOutcome& outcome);

}  // namespace assay
