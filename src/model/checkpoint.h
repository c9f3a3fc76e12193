#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "model/config.h"
#include "model/weights.h"
#include "program/program.h"

namespace assay {

enum class Unused : std::uint8_t { refused, allowed };
enum class Nonfinite : std::uint8_t { refused, allowed };

struct CheckpointOptions {
  Unused unused = Unused::refused;  ///< `--allow-unused`: unknown tensors pass with a warning.
  Nonfinite nonfinite =
      Nonfinite::refused;  ///< `--allow-nonfinite`: NaN and infinite weights pass; dump writes such outputs.
};

/// What a checkpoint file holds: its config and its tensors as [out, in] under canonical names, not yet read.
struct Checkpoint {
  std::string name;  ///< Begins error messages.
  ModelConfig config;
  std::map<std::string, Weight> tensors;
  std::vector<std::filesystem::path> files;
  std::vector<std::string> notes;  ///< What a user must know of it.
};

/// A folder with config.json and model.safetensors (or shards with their index).
Checkpoint open_folder(const std::filesystem::path& folder);
/// A file of such a folder, whatever its name, and the config.json beside it.
Checkpoint open_safetensors_checkpoint(const std::filesystem::path& file);
/// A GGUF file of an architecture that a family names.
Checkpoint open_gguf_checkpoint(const std::filesystem::path& file);

/// What a configuration that ties the head to the token embedding means for this checkpoint, as transformers 5 has it:
/// where the file holds both and they differ, each is used as it is (`config.tied_head` is taken back), which the
/// sentence that is returned says; where it holds the head alone, that is the embedding too. Else changes nothing and
/// returns nothing. Reads both tables where both are there.
std::string settle_tied_head(Checkpoint& checkpoint);

/// The weights that `program` reads, taken from the checkpoint: each present with the right shape, nothing unknown left
/// over but buffers and heads that are known to be unused; none stored as codes of a quantisation. What was left out is
/// added to `notes`. Values are checked for NaN and infinities when they are loaded, which is before anything runs.
/// Throws user errors naming file and tensor.
Weights bind_weights(const Program& program, Checkpoint checkpoint, const CheckpointOptions& options,
                     std::vector<std::string>& notes);

}  // namespace assay
