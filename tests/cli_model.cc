#include "cli_model.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <stdexcept>

#include "model/architecture.h"
#include "model/random_weights.h"

namespace assay {
namespace {

template <typename T>
std::string bytes_of(T value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

}  // namespace

Json tiny_config() {
  return {{"model_type", "cs336"}, {"vocab_size", 64}, {"context_length", 64}, {"d_model", 32},
          {"num_layers", 2},       {"num_heads", 4},   {"d_ff", 64},           {"rope_theta", 10000.0}};
}

float* TinyTensors::values(const std::string& name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) throw std::runtime_error(name + ": no such tensor");
  return tensors[static_cast<std::size_t>(found - names.begin())].as<float>();
}

void TinyTensors::remove(const std::string& name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) throw std::runtime_error(name + ": no such tensor");
  tensors.erase(tensors.begin() + (found - names.begin()));
  names.erase(found);
}

void TinyTensors::add(const std::string& name, const Shape& shape) {
  names.push_back(name);
  tensors.emplace_back(DType::f32, shape);
  std::fill_n(tensors.back().as<float>(), tensors.back().count(), 0.5F);
}

TinyTensors tiny_tensors(const Json& of) {
  const ModelConfig config = parse_config(of, "config.json");
  TinyTensors tiny;
  for (const auto& [name, weight] : random_weights(build_program(config, {}), config, 1).by_name) {
    tiny.names.push_back(name);
    tiny.tensors.push_back(weight.load().owned);
  }
  return tiny;
}

void write_text(const fs::path& file, std::string_view content) {
  std::ofstream stream(file, std::ios::binary);
  stream.write(content.data(), static_cast<std::streamsize>(content.size()));
  if (!stream) throw std::runtime_error(file.string() + ": not written");
}

void write_tensors(const fs::path& file, const TinyTensors& tensors) {
  std::vector<NamedTensor> named;
  for (std::size_t i = 0; i < tensors.names.size(); ++i) named.push_back({tensors.names[i], tensors.tensors[i].view()});
  write_safetensors(file, named);
}

void write_tiny_model(const fs::path& folder, const Json& config) {
  fs::create_directories(folder);
  write_text(folder / "config.json", config.dump());
  write_tensors(folder / "model.safetensors", tiny_tensors(config));
}

std::string safetensors_text(std::uint64_t header_bytes, std::string_view header, std::string_view data) {
  return bytes_of(header_bytes) + std::string(header) + std::string(data);
}

std::string npy_text(std::int64_t rows, std::int64_t columns, const std::function<std::int64_t(std::int64_t)>& value) {
  std::string header = fmt::format("{{'descr': '<i8', 'fortran_order': False, 'shape': ({}, {}), }}", rows, columns);
  constexpr std::size_t preamble = 10;
  header.resize((preamble + header.size() + 64) / 64 * 64 - preamble, ' ');
  header.back() = '\n';
  std::string text = std::string("\x93NUMPY\x01\0", 8) + bytes_of(static_cast<std::uint16_t>(header.size())) + header;
  for (std::int64_t i = 0; i < rows * columns; ++i) text += bytes_of(value(i));
  return text;
}

WorkFolder::WorkFolder() {
  std::string name = (fs::temp_directory_path() / "assay tëst 模型 XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
  path_ = name;
}

WorkFolder::~WorkFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::vector<std::string> WorkFolder::content() const {
  std::vector<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(path_)) names.push_back(entry.path().string());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace assay
