#pragma once

#include <string>
#include <vector>

#include "results/document.h"
#include "studies/shared/engine.h"
#include "studies/shared/surroundings.h"

namespace assay {

struct AutocastRequest {
  std::string model = "toy";  ///< "toy", or a model by any of its names.
  std::vector<std::string> precisions = {"mixed-fp16", "mixed-bf16"};
  ModelOptions model_options;
  /// off: each operation by itself, as PyTorch's eager autocast runs them; on: the step that `train` runs.
  Fusion fusion = Fusion::off;
  double seconds = 1;  ///< Budget of each norm's timing.
};

/// The dtype of every value of a training step under autocast, the lists behind it, and why norms keep f32. Throws user
/// errors for a model or precision that does not exist, cannot be trained, or that is not autocast.
Document autocast(const AutocastRequest& request, const FactsSource& facts);

}  // namespace assay
