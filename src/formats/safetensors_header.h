#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/safetensors.h"

namespace assay {

/// A dtype of the format: its name, its size, and what it is here.
struct StoredType {
  const char* name;
  std::size_t bytes;  ///< Of one element.
  std::optional<DType> dtype;
};
/// Null where the format (or this program) knows no such name.
const StoredType* find_stored_type(std::string_view name);
/// "BF16" for DType::bf16; throws a defect for a dtype that is never stored (tf32).
const char* stored_name(DType dtype);

/// One header entry; shape, dtype and length agree, but nothing is known yet of its place in the data.
struct HeaderEntry {
  StoredTensor tensor;  ///< `bytes` still empty.
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

struct SafetensorsHeader {
  std::vector<HeaderEntry> entries;  ///< In the order of the text.
  std::map<std::string, std::string> metadata;
};

/// Reads the header's JSON event by event, so that memory stays in proportion to the tensors that it names.
SafetensorsHeader parse_safetensors_header(std::string_view json, const std::string& name);

/// Maps one more file and adds its tensors behind those that are there, sorted among themselves only.
void add_safetensors_file(Safetensors& whole, const std::filesystem::path& path);

}  // namespace assay
