#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "tensor/tensor.h"

namespace assay {

// A safetensors file (all integers little-endian):
//
//   0         8             8 + header                                   end of file
//   | header  | JSON text   | data: the tensors, in any order, without gaps and without overlaps |
//   | u64     | {"__metadata__": {"key": "value"}?,
//             |  "name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [begin, end]}, ...} spaces
//
// Offsets count from the start of the data. Elements are row-major.

/// One tensor as the file holds it. Valid as long as the Safetensors it came from.
struct StoredTensor {
  std::string name;
  std::string stored;          ///< The file's own word: "F32", "BF16", "I64", "F8_E4M3".
  std::optional<DType> dtype;  ///< Absent where `stored` is no dtype that a weight can have (I64, I16, BOOL, ...).
  Shape shape;
  std::span<const std::byte> bytes;  ///< Aligned for the element type.
  std::uint32_t file = 0;            ///< Which of Safetensors::files() holds it.

  /// Throws a user error that names the tensor and its stored dtype where `dtype` is absent.
  TensorView view() const;
};

/// The content of one file, or of a model's shards together, checked whole.
struct Safetensors {
  std::vector<MappedFile> files;
  std::vector<AlignedBytes> copies;             ///< Tensors that lie misaligned in their file.
  std::vector<StoredTensor> tensors;            ///< Sorted by name (bytewise); names are unique.
  std::map<std::string, std::string> metadata;  ///< `__metadata__` of the first file.

  const StoredTensor* find(std::string_view name) const;
  const std::filesystem::path& path_of(const StoredTensor& tensor) const { return files[tensor.file].path(); }
};

/// Maps one file. Nothing of it is trusted: lengths, offsets, shapes, dtypes, names and JSON are all checked before
/// this returns. Throws a user error: "model.safetensors: tensor 'h.0.attn.c_attn.weight' ends at byte 912, the file
/// has 880". A truncated file names the first missing tensor.
Safetensors open_safetensors(const std::filesystem::path& file);

/// Maps a model folder's `model.safetensors`, or the shards that its `model.safetensors.index.json` names. Shards must
/// be plain names in the folder; the index and the shards must hold the same tensors.
Safetensors open_safetensors_folder(const std::filesystem::path& folder);

/// What a file's bytes hold, in offset order; `name` begins every error message.
struct SafetensorsContent {
  std::vector<StoredTensor> tensors;
  std::map<std::string, std::string> metadata;
};
SafetensorsContent parse_safetensors(std::span<const std::byte> bytes, const std::string& name);

/// A tensor to be written. `data` may be null where the shape holds no element.
struct NamedTensor {
  std::string name;
  TensorView view;
  const char* stored = nullptr;  ///< The file's word for its elements, "I64", where no dtype has it.
};

/// Writes atomically, in the order of names, a header padded with spaces to 8 bytes (to keep alignment, wider dtypes
/// come first, as the format's own library does). Throws a user error for a name that stands twice and for a failed
/// write.
void write_safetensors(const std::filesystem::path& file, std::vector<NamedTensor> tensors,
                       const std::map<std::string, std::string>& metadata = {{"format", "pt"}});

}  // namespace assay
