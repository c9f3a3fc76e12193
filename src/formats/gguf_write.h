#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/write_file.h"
#include "formats/gguf.h"

namespace assay {

/// A metadata value to be written, as gguf.h draws it.
struct GgufEntry {
  std::string key;
  GgufType type = GgufType::u32;
  std::string bytes;  ///< What stands behind the type.
};

GgufEntry gguf_count(std::string key, std::uint32_t value);  ///< u32
GgufEntry gguf_number(std::string key, float value);
GgufEntry gguf_truth(std::string key, bool value);
GgufEntry gguf_text(std::string key, std::string_view value);
GgufEntry gguf_texts(std::string key, const std::vector<std::string>& values);
GgufEntry gguf_integers(std::string key, const std::vector<std::int32_t>& values);
/// A value of another file, as it stands there.
GgufEntry gguf_copy(const GgufValue& value);

/// A tensor to be written.
struct GgufTensorSource {
  std::string name;
  GgmlType type = GgmlType::f32;
  Shape shape;                                   ///< Row-major, outermost first; the last extent makes whole blocks.
  std::function<void(const ByteSink&)> produce;  ///< Hands over all bytes of its elements, when they are written.
};

/// That its elements take in the file.
std::uint64_t tensor_bytes(const GgufTensorSource& tensor);

/// A file without tensors.
std::string gguf_bytes(const std::vector<GgufEntry>& metadata);

/// Writes version 3, whole or not at all, values and tensors in their order. A defect where a tensor gives another
/// number of bytes than its type and shape say.
void write_gguf(const std::filesystem::path& file, const std::vector<GgufEntry>& metadata,
                const std::vector<GgufTensorSource>& tensors);

}  // namespace assay
