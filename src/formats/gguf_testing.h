#pragma once

// For the tests of this room only: GGUF files made piece by piece.

#include <string>
#include <vector>

#include "formats/gguf.h"
#include "formats/testing.h"

namespace assay {

inline std::string gguf_text(std::string_view text) {
  return little_endian(std::uint64_t{text.size()}) + std::string(text);
}

/// Key, type and value bytes.
inline std::string gguf_value(std::string_view key, GgufType type, const std::string& value) {
  return gguf_text(key) + little_endian(static_cast<std::uint32_t>(type)) + value;
}

inline std::string gguf_array(GgufType element, std::uint64_t count, const std::string& elements) {
  return little_endian(static_cast<std::uint32_t>(element)) + little_endian(count) + elements;
}

struct GgufTensorText {
  std::string name = "t";
  std::vector<std::uint64_t> extents = {32};  ///< Innermost first, as the file has them.
  std::uint32_t type = 8;
  std::uint64_t offset = 0;
};

inline std::string gguf_tensor(const GgufTensorText& tensor) {
  std::string bytes = gguf_text(tensor.name) + little_endian(static_cast<std::uint32_t>(tensor.extents.size()));
  for (const std::uint64_t extent : tensor.extents) bytes += little_endian(extent);
  return bytes + little_endian(tensor.type) + little_endian(tensor.offset);
}

struct GgufFileText {
  std::uint32_t version = 3;
  std::vector<std::string> values = {};
  std::vector<std::string> tensors = {};
  std::string data = {};
  std::size_t alignment = 32;
};

inline std::string gguf_file(const GgufFileText& file) {
  std::string bytes = "GGUF" + little_endian(file.version) + little_endian(std::uint64_t{file.tensors.size()}) +
                      little_endian(std::uint64_t{file.values.size()});
  for (const std::string& value : file.values) bytes += value;
  for (const std::string& tensor : file.tensors) bytes += tensor;
  if (file.tensors.empty()) return bytes;
  bytes.append((file.alignment - bytes.size() % file.alignment) % file.alignment, '\0');
  return bytes + file.data;
}

}  // namespace assay
