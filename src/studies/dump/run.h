#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "studies/shared/engine.h"

namespace assay {

struct DumpRequest {
  std::string model;
  std::filesystem::path
      tokens;  ///< {"input_ids": [[..]], "attention_mask": [[..]]?, "labels": ..?, "token_type_ids": [[..]]?}
  std::string precision = "fp32";
  std::vector<std::string> what = {"logits"};  ///< logits, loss, hidden, grads
  /// Columns of the tokens that are run one after the other, through a cache; empty: all at once, without one.
  std::vector<std::int64_t> chunks = {};
  std::filesystem::path out;
  EngineOptions engine;
  ModelOptions model_options;
};

/// Runs the model once on the tokens and writes what it computed as f32 tensors into a safetensors file: `logits`,
/// `loss` (a scalar: mean cross-entropy over counted tokens), `hidden.0` .. `hidden.L`, `grad.<parameter>`. Throws what
/// its parts throw; the file is there whole or not at all. A loss of which no label counts is a user error. With
/// `chunks` each row goes through a cache in those pieces. Returns sentences to be said: what a precision was settled
/// to on a machine that was not probed.
std::vector<std::string> dump(const DumpRequest& request, const MachineFacts& facts);

}  // namespace assay
