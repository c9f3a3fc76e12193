#pragma once

#include <vector>

#include "studies/measure/request.h"
#include "studies/measure/runs.h"

namespace assay {

/// One command's series and runs, beside what all commands share.
struct MeasuredProgram {
  const MeasureRequest& request;
  const MachineFacts& facts;
  const Power& power;
  const Series& baseline;  ///< The first command's.
  const Series& series;
  const ProgramRuns& runs;
};

/// The command's record. What MeasureRequest::flops claims holds for the first command alone.
Record program_record(const MeasuredProgram& program);
/// A record a phase: its spans in all sampled runs, in the order in which the phases first began.
std::vector<Record> phase_records(const MeasuredProgram& program, const Record& whole);
/// A sentence where lines that the program wrote about its phases were no markers; else empty.
std::string marker_faults(const MeasuredProgram& program);

}  // namespace assay
