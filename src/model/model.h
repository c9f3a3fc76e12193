#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/architecture.h"
#include "model/checkpoint.h"
#include "model/config.h"
#include "model/lora_options.h"
#include "model/sizes.h"
#include "model/weights.h"
#include "tensor/precision.h"

namespace assay {

enum class Origin : std::uint8_t { path, cache, preset };
const char* name(Origin origin);

/// Weights that compute the same in fp32, made for a row that quantises activations.
struct CalibratedWeights {
  Weights weights;
  ModelConfig config;  ///< The model's, but for a head that was tied and has a table of its own among `weights`.
  std::shared_ptr<const ActivationScales> scales = nullptr;  ///< Of rows whose scales are static.
  std::string words = {};                                    ///< How they were made, on what.
};

/// A model that can be built and run.
struct Model {
  std::string name;
  Origin origin = Origin::preset;
  ModelConfig config;
  Weights weights;
  std::map<std::string, std::shared_ptr<const CalibratedWeights>> calibrated = {};  ///< By the row's name.
  std::string adapters_identity = {};          ///< sha256 of the files that its adapters came from; empty: none did.
  std::vector<std::string> notes;              ///< What of the checkpoint is not used.
  std::optional<std::filesystem::path> files;  ///< Folder or GGUF file; holds the tokenizer too. Absent for presets.
  std::vector<std::filesystem::path> checkpoint_files;
  bool random_weights() const { return !files.has_value(); }
};

struct ModelOptions {
  CheckpointOptions checkpoint;
  std::uint64_t seed = 1;                ///< Of random weights.
  std::filesystem::path lora_from = {};  ///< A folder of adapters to put beside the model (model/lora.h); empty: none.
  std::optional<LoraOptions> lora = std::nullopt;  ///< Fresh adapters instead.
  std::filesystem::path config = {};               ///< A config.json, or a folder with one, in the place of a model's
                                                   ///< name: weights are random.
  Sizes sizes = {};                                ///< Other sizes than the model has: weights are random.
  /// Told what a user must know of a checkpoint that is used otherwise than its configuration says; may be empty.
  std::function<void(const std::string&)> say = nullptr;
};

/// Opens a model by name. Names mean the same everywhere, in this order: a path (folder or .gguf file), a model in the
/// cache, a preset. Throws a user error that says what was looked for.
Model open_model(const std::string& name, const ModelOptions& options);

/// sha256 of the checkpoint's files ("random seed 1" for a preset). Reads them whole.
std::string weights_identity(const Model& model);

}  // namespace assay
