#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "tensor/tensor.h"

namespace assay {

// Names in the folder of a training; checkpoint.h says what they hold.
constexpr const char* weights_file = "model.safetensors";
constexpr const char* moments_file = "optimizer.safetensors";
constexpr const char* progress_file = "training.json";
constexpr const char* manifest_file = "manifest.json";

struct TensorFacts {
  std::string dtype;  ///< The file's own word: "F32".
  Shape shape;        ///< As the file has it.
  bool operator==(const TensorFacts&) const = default;
};

struct FileFacts {
  std::int64_t bytes = 0;
  std::string sha256;
  std::map<std::string, TensorFacts> tensors;  ///< Of a safetensors file.
};

/// What a checkpoint's files were when they were written:
///
///   {"format": "assay manifest 1", "step": 3,
///    "files": {"model.safetensors": {"bytes": .., "sha256": "..", "tensors": {NAME: {"dtype": "F32", "shape":
///    [..]}}}}}
struct Manifest {
  std::int64_t step = 0;  ///< Steps that were done.
  std::map<std::string, FileFacts> files;
};

/// Writes manifest.json about the checkpoint's files that stand in `folder`.
void write_manifest(const std::filesystem::path& folder, std::int64_t step);
/// None where the folder has none. Throws a user error naming the file where it is no manifest of ours.
std::optional<Manifest> read_manifest(const std::filesystem::path& folder);

enum class Missing : std::uint8_t { refused, allowed };
/// Throws a user error naming the first file that is not the one that was written, and what differs.
void check_files(const Manifest& manifest, const std::filesystem::path& folder, Missing missing);

}  // namespace assay
