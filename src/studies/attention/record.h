#pragma once

#include "measure/sampling.h"
#include "studies/attention/run.h"

namespace assay {

/// One phase of a cell that was sampled.
struct MeasuredPhase {
  const Series& series;
  const AttentionStep& step;
  const AttentionCell& cell;
  Phase phase;
};

/// What `bench` would write of it: samples, conditions, FLOPs, bytes, the ledger of the phase's operations, this
/// machine's rates.
Record attention_record(const MeasuredPhase& measured, const AttentionRequest& request, const MachineFacts& facts);

}  // namespace assay
