#pragma once

#include <string>

#include "results/document.h"
#include "studies/shared/engine.h"

namespace assay {

/// Programs that are shown: what each pass made, or, among the details, what the last one left.
enum class ShownPasses : std::uint8_t { last, all };

struct ExplainRequest {
  std::string model;
  std::string precision = "fp32";
  Extent extent{1, 128};
  ShownPasses passes = ShownPasses::last;
  EngineOptions engine;
  ModelOptions model_options;
};

/// What will run and why, before it runs: the Program after its passes, the Plan (kernels, dtypes, arena offsets,
/// FLOPs, bytes, predicted peak memory) and the ledger.
Document explain(const ExplainRequest& request, const MachineFacts& facts);

}  // namespace assay
