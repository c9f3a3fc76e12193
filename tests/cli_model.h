#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "formats/safetensors.h"

namespace assay {

namespace fs = std::filesystem;

/// A language model of 2 layers, width 32, 64 ids and 64 positions: config.json's entries.
Json tiny_config();

/// Its tensors with random values, to be changed before they are written.
struct TinyTensors {
  std::vector<std::string> names;
  std::vector<Tensor> tensors;

  float* values(const std::string& name);
  void remove(const std::string& name);
  void add(const std::string& name, const Shape& shape);
};
TinyTensors tiny_tensors(const Json& config = tiny_config());

void write_text(const fs::path& file, std::string_view content);
void write_tensors(const fs::path& file, const TinyTensors& tensors);
/// config.json and model.safetensors in `folder`, which is made.
void write_tiny_model(const fs::path& folder, const Json& config = tiny_config());

/// A safetensors file with any header.
std::string safetensors_text(std::uint64_t header_bytes, std::string_view header, std::string_view data = {});
/// A .npy file of 64-bit integers.
std::string npy_text(std::int64_t rows, std::int64_t columns, const std::function<std::int64_t(std::int64_t)>& value);

/// A fresh folder with spaces and characters of several scripts in its name, gone with the object.
class WorkFolder {
 public:
  WorkFolder();
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;
  ~WorkFolder();
  const fs::path& path() const { return path_; }
  /// Everything below it, sorted.
  std::vector<std::string> content() const;

 private:
  fs::path path_;
};

}  // namespace assay
