#pragma once

#include <utility>

#include "model/checkpoint.h"
#include "studies/dump/run.h"
#include "text/corpus.h"
#include "training/trainer.h"

namespace assay {

/// Gradients of the tokens' mean loss with respect to every parameter, named `grad.<name in the checkpoint>`, f32 and
/// shaped as the checkpoint holds the parameter. Runs in the request's precision. Throws a user
/// error for a model without a loss.
std::vector<std::pair<std::string, Tensor>> gradients(const DumpRequest& request, const Model& model,
                                                      const TokenBatch& tokens, const MachineFacts& facts);

}  // namespace assay
