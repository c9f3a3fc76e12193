#pragma once

#include <cstdint>
#include <filesystem>

#include "quantization/source.h"

namespace assay {

// A model as a folder that transformers and vLLM open, by the compressed-tensors package where anything is quantised:
//
//   config.json          the model's own, with "quantization_config"
//   tokenizer.json, ...  as the model's folder has them
//   model.safetensors    or model-00001-of-00003.safetensors and model.safetensors.index.json

/// Bytes of a file of weights, at most, where a model takes several; one tensor may be larger.
constexpr std::int64_t usual_shard_bytes = 5'000'000'000;

/// What was written.
struct WrittenModel {
  std::int64_t bytes = 0;      ///< Of weights, without what a file says beside them.
  std::int64_t quantised = 0;  ///< Weights in codes,
  std::int64_t plain = 0;      ///< and others.
  std::vector<std::string> notes = {};
};

/// Throws a user error, before anything is written, that names the layer whose row the format cannot say.
void check_folder(const QuantizationSource& source);

/// Fills the folder, which is there and empty.
WrittenModel write_model_folder(const QuantizationSource& source, const std::filesystem::path& folder,
                                std::int64_t shard_bytes = usual_shard_bytes);

}  // namespace assay
