#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "formats/ggml_type.h"
#include "tensor/tensor.h"

namespace assay {

// A GGUF file, version 2 or 3, little-endian. A text is a u64 length and that many bytes, not terminated.
//
//   | "GGUF" | version u32 | tensors u64 | values u64 |
//   | values:  key text | type u32 | value |                     an array: element type u32, count u64, elements
//   | tensors: name text | rank u32 | extents u64[rank], innermost first | type u32 | offset u64 |
//   | zeros up to a multiple of `general.alignment` (32 where absent) |
//   | data: each tensor at its offset, a multiple of the alignment |

enum class GgufType : std::uint32_t { u8, s8, u16, s16, u32, s32, f32, boolean, text, array, u64, s64, f64 };
/// "u32", "array", ...
const char* name(GgufType type);

/// A metadata value as it lies in the file: checked, not yet decoded (a vocabulary has 49,152 texts).
struct GgufValue {
  std::string_view key;
  GgufType type = GgufType::u8;
  GgufType element = GgufType::u8;  ///< Of an array.
  std::uint64_t count = 1;          ///< Elements of an array.
  std::span<const std::byte>
      bytes;  ///< The value without its type; of an array the elements; of a text its characters.
};

/// Shape is row-major, outermost first: the file's extents reversed.
struct GgufTensor {
  std::string_view name;
  GgmlType type = GgmlType::f32;
  Shape shape;
  std::span<const std::byte> bytes;  ///< element_count(shape) elements in blocks; starts at a multiple of 8 bytes.
};

/// Expands a tensor to f32; `out` has element_count(shape) elements.
void dequantise(const GgufTensor& tensor, std::span<float> out);

/// A file checked whole. Views stay valid as long as this object (or its moved-to heir) lives.
struct Gguf {
  std::string name;  ///< Begins every error message.
  std::optional<MappedFile> file;
  std::uint32_t version = 0;
  std::vector<GgufValue> metadata;  ///< Sorted by key, unique.
  std::vector<GgufTensor> tensors;  ///< Sorted by name, unique.

  /// Null where there is none.
  const GgufValue* find(std::string_view key) const;
  const GgufTensor* find_tensor(std::string_view tensor) const;

  /// Typed values. Each throws a user error that names file and key where the key is missing or of another type.
  /// Any integer type; throws where the value passes 2^63 - 1.
  std::int64_t integer(std::string_view key) const;
  /// f32 or f64, or an integer.
  double number(std::string_view key) const;
  bool truth(std::string_view key) const;
  std::string_view text(std::string_view key) const;
  /// Arrays.
  std::vector<std::string_view> texts(std::string_view key) const;
  std::vector<std::int64_t> integers(std::string_view key) const;
  std::vector<float> floats(std::string_view key) const;
};

/// Maps a file and checks all of it but the elements: counts, lengths, types, offsets, overlaps, names. Throws a user
/// error: "model.gguf: tensor 'blk.0.attn_q.weight' ends at byte 912, the file has 880".
Gguf open_gguf(const std::filesystem::path& path);
/// The same of bytes in memory, which must outlive the result and lie at a multiple of 8.
Gguf parse_gguf(std::span<const std::byte> bytes, const std::string& name);

}  // namespace assay
