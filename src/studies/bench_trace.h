#pragma once

#include "results/record.h"
#include "runtime/plan.h"

namespace assay {

/// Runs the plan with the clock read around every operation, and writes the medians into the record. It is run
/// three times, or as often as fits into `most_s`, once at least: what tells operations apart needs no interval.
/// Nothing where the ledger is not the plan's.
void trace_operations(Plan& plan, double most_s, Record& record);

}  // namespace assay
