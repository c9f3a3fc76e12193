#include "formats/gguf_write.h"

#include <cstring>
#include <numeric>
#include <span>

#include "base/error.h"

namespace assay {
namespace {

constexpr std::uint32_t written_version = 3;
constexpr std::uint64_t written_alignment = 32;

template <typename T>
void append_value(std::string& bytes, T value) {
  char raw[sizeof(value)];
  std::memcpy(raw, &value, sizeof(value));
  bytes.append(raw, sizeof(value));
}

void append_text(std::string& bytes, std::string_view text) {
  append_value(bytes, std::uint64_t{text.size()});
  bytes += text;
}

void append_type(std::string& bytes, GgufType type) {
  append_value(bytes, static_cast<std::uint32_t>(type));
}

template <typename T>
GgufEntry plain_entry(std::string key, GgufType type, T value) {
  GgufEntry entry{std::move(key), type, {}};
  append_value(entry.bytes, value);
  return entry;
}

GgufEntry array_entry(std::string key, GgufType element, std::uint64_t count) {
  GgufEntry entry{std::move(key), GgufType::array, {}};
  append_type(entry.bytes, element);
  append_value(entry.bytes, count);
  return entry;
}

std::uint64_t aligned(std::uint64_t bytes) {
  return (bytes + written_alignment - 1) / written_alignment * written_alignment;
}

void append_tensor(std::string& bytes, const GgufTensorSource& tensor, std::uint64_t offset) {
  append_text(bytes, tensor.name);
  append_value(bytes, static_cast<std::uint32_t>(tensor.shape.size()));
  for (auto extent = tensor.shape.rbegin(); extent != tensor.shape.rend(); ++extent)
    append_value(bytes, static_cast<std::uint64_t>(*extent));
  append_value(bytes, static_cast<std::uint32_t>(tensor.type));
  append_value(bytes, offset);
}

/// All that stands before the data, filled up to where that begins.
std::string gguf_header(const std::vector<GgufEntry>& metadata, const std::vector<GgufTensorSource>& tensors) {
  std::string bytes = "GGUF";
  append_value(bytes, written_version);
  append_value(bytes, std::uint64_t{tensors.size()});
  append_value(bytes, std::uint64_t{metadata.size()});
  for (const GgufEntry& entry : metadata) {
    append_text(bytes, entry.key);
    append_type(bytes, entry.type);
    bytes += entry.bytes;
  }
  std::uint64_t offset = 0;
  for (const GgufTensorSource& tensor : tensors) {
    append_tensor(bytes, tensor, offset);
    offset += aligned(tensor_bytes(tensor));
  }
  bytes.resize(aligned(bytes.size()), '\0');
  return bytes;
}

/// The tensor's bytes, and zeros up to where the next one begins.
void write_tensor(const GgufTensorSource& tensor, const ByteSink& sink) {
  std::uint64_t written = 0;
  tensor.produce([&](std::span<const std::byte> bytes) {
    written += bytes.size();
    sink(bytes);
  });
  ASSAY_ASSERT(written == tensor_bytes(tensor));
  const std::string zeros(aligned(written) - written, '\0');
  if (!zeros.empty()) sink(std::as_bytes(std::span(zeros)));
}

}  // namespace

GgufEntry gguf_count(std::string key, std::uint32_t value) {
  return plain_entry(std::move(key), GgufType::u32, value);
}

GgufEntry gguf_number(std::string key, float value) {
  return plain_entry(std::move(key), GgufType::f32, value);
}

GgufEntry gguf_truth(std::string key, bool value) {
  return plain_entry(std::move(key), GgufType::boolean, static_cast<std::uint8_t>(value ? 1 : 0));
}

GgufEntry gguf_text(std::string key, std::string_view value) {
  GgufEntry entry{std::move(key), GgufType::text, {}};
  append_text(entry.bytes, value);
  return entry;
}

GgufEntry gguf_texts(std::string key, const std::vector<std::string>& values) {
  GgufEntry entry = array_entry(std::move(key), GgufType::text, values.size());
  for (const std::string& value : values) append_text(entry.bytes, value);
  return entry;
}

GgufEntry gguf_integers(std::string key, const std::vector<std::int32_t>& values) {
  GgufEntry entry = array_entry(std::move(key), GgufType::s32, values.size());
  for (const std::int32_t value : values) append_value(entry.bytes, value);
  return entry;
}

GgufEntry gguf_copy(const GgufValue& value) {
  const std::string content(reinterpret_cast<const char*>(value.bytes.data()), value.bytes.size());
  if (value.type == GgufType::text) return gguf_text(std::string(value.key), content);
  if (value.type != GgufType::array) return {std::string(value.key), value.type, content};
  GgufEntry entry = array_entry(std::string(value.key), value.element, value.count);
  entry.bytes += content;
  return entry;
}

std::uint64_t tensor_bytes(const GgufTensorSource& tensor) {
  const GgmlLayout& layout = layout_of(tensor.type);
  const auto elements = static_cast<std::uint64_t>(element_count(tensor.shape));
  ASSAY_ASSERT(tensor.shape.empty() || static_cast<std::size_t>(tensor.shape.back()) % layout.block_elements == 0);
  return elements / layout.block_elements * layout.block_bytes;
}

std::string gguf_bytes(const std::vector<GgufEntry>& metadata) {
  return gguf_header(metadata, {});
}

void write_gguf(const std::filesystem::path& file, const std::vector<GgufEntry>& metadata,
                const std::vector<GgufTensorSource>& tensors) {
  const std::string header = gguf_header(metadata, tensors);
  write_file_atomically(file, [&](const ByteSink& sink) {
    sink(std::as_bytes(std::span(header)));
    for (const GgufTensorSource& tensor : tensors) write_tensor(tensor, sink);
  });
}

}  // namespace assay
