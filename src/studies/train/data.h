#pragma once

#include <optional>

#include "quality/evaluate.h"
#include "studies/train/run.h"
#include "training/data.h"

namespace assay {

/// What a training reads.
struct TrainInput {
  TrainingData data;
  std::optional<QualitySet> eval;
  std::string eval_identity;  ///< sha256 of the file that is held out.
  std::string identity;       ///< sha256 of the file that is trained on.
};

/// The request's tokens, text or labelled sentences, checked against the model. Throws user errors that name the file.
TrainInput train_input(const TrainRequest& request, const Model& model, const TrainCallbacks& callbacks);

}  // namespace assay
