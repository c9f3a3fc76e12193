#pragma once

#include <string>

#include "base/json_fwd.h"
#include "studies/engine.h"

namespace assay {

/// Programs that are printed: what each pass made, or what the last one left.
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
std::string explain_text(const ExplainRequest& request, const MachineFacts& facts);
OrderedJson explain_json(const ExplainRequest& request, const MachineFacts& facts);

}  // namespace assay
