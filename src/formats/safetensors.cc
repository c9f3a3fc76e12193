#include "formats/safetensors.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/printable.h"
#include "formats/safetensors_header.h"

namespace assay {
namespace {

constexpr std::size_t length_bytes = 8;
/// The format's own library refuses longer headers too.
constexpr std::uint64_t most_safetensors_header_bytes = 100'000'000;

std::string_view header_text(std::span<const std::byte> bytes, const std::string& name) {
  if (bytes.size() < length_bytes) fail_user("{}: has {} bytes, too few for a safetensors file", name, bytes.size());
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), length_bytes);
  if (length > most_safetensors_header_bytes) {
    fail_user("{}: the header claims {} bytes, at most {} are read", name, length, most_safetensors_header_bytes);
  }
  if (length > bytes.size() - length_bytes) {
    fail_user("{}: the header ends at byte {}, the file has {}", name, length_bytes + length, bytes.size());
  }
  return {reinterpret_cast<const char*>(bytes.data()) + length_bytes, length};
}

/// By offset; empty tensors before the one that begins where they stand.
void sort_by_offset(std::vector<HeaderEntry>& entries) {
  std::sort(entries.begin(), entries.end(), [](const HeaderEntry& a, const HeaderEntry& b) {
    return std::tie(a.begin, a.end, a.tensor.name) < std::tie(b.begin, b.end, b.tensor.name);
  });
}

/// The tensors, in offset order, fill the data exactly: no gap, no overlap, nothing past the end, nothing left.
void check_dense_layout(const std::vector<HeaderEntry>& entries, std::uint64_t data_start, std::uint64_t file_bytes,
                        const std::string& name) {
  const std::uint64_t data_bytes = file_bytes - data_start;
  std::uint64_t at = 0;
  for (const HeaderEntry& entry : entries) {
    const auto shown = [&] { return printable(entry.tensor.name); };
    if (entry.begin < at) {
      fail_user("{}: tensor '{}' begins at byte {}, inside the tensor before it", name, shown(),
                data_start + entry.begin);
    }
    if (entry.begin > at) fail_user("{}: a gap of {} bytes stands before tensor '{}'", name, entry.begin - at, shown());
    if (entry.end > data_bytes) {
      fail_user("{}: tensor '{}' ends at byte {}, the file has {}", name, shown(), data_start + entry.end, file_bytes);
    }
    at = entry.end;
  }
  if (at != data_bytes) fail_user("{}: {} bytes follow the last tensor", name, data_bytes - at);
}

void check_unique(const std::vector<StoredTensor>& sorted, const std::string& name) {
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end(),
                                        [](const StoredTensor& a, const StoredTensor& b) { return a.name == b.name; });
  if (twice != sorted.end()) fail_user("{}: tensor '{}' stands twice", name, printable(twice->name));
}

void sort_by_name(std::vector<StoredTensor>& tensors) {
  std::sort(tensors.begin(), tensors.end(),
            [](const StoredTensor& a, const StoredTensor& b) { return a.name < b.name; });
}

}  // namespace

TensorView StoredTensor::view() const {
  if (!dtype) fail_user("tensor '{}': is stored as {}, which no weight can be", printable(name), stored);
  return {*dtype, shape, bytes.data()};
}

const StoredTensor* Safetensors::find(std::string_view name) const {
  const auto found =
      std::lower_bound(tensors.begin(), tensors.end(), name,
                       [](const StoredTensor& tensor, std::string_view key) { return tensor.name < key; });
  return found != tensors.end() && found->name == name ? &*found : nullptr;
}

SafetensorsContent parse_safetensors(std::span<const std::byte> bytes, const std::string& name) {
  const std::string_view text = header_text(bytes, name);
  SafetensorsHeader header = parse_safetensors_header(text, name);
  sort_by_offset(header.entries);
  const std::span<const std::byte> data = bytes.subspan(length_bytes + text.size());
  check_dense_layout(header.entries, length_bytes + text.size(), bytes.size(), name);

  SafetensorsContent content{{}, std::move(header.metadata)};
  content.tensors.reserve(header.entries.size());
  for (HeaderEntry& entry : header.entries) {
    entry.tensor.bytes = data.subspan(entry.begin, entry.end - entry.begin);
    content.tensors.push_back(std::move(entry.tensor));
  }
  sort_by_name(content.tensors);
  check_unique(content.tensors, name);
  return content;
}

void add_safetensors_file(Safetensors& whole, const std::filesystem::path& path) {
  const auto file = static_cast<std::uint32_t>(whole.files.size());
  const MappedFile& mapped = whole.files.emplace_back(path);
  SafetensorsContent content = parse_safetensors(mapped.bytes(), path.string());
  if (file == 0) whole.metadata = std::move(content.metadata);
  for (StoredTensor& tensor : content.tensors) {
    tensor.file = file;
    // Files of early writers begin their data at any byte; such tensors are copied to where they can be read.
    const std::size_t element = find_stored_type(tensor.stored)->bytes;
    if (!tensor.bytes.empty() && reinterpret_cast<std::uintptr_t>(tensor.bytes.data()) % element != 0) {
      const AlignedBytes& copy = whole.copies.emplace_back(allocate_aligned(tensor.bytes.size()));
      std::copy(tensor.bytes.begin(), tensor.bytes.end(), copy.get());
      tensor.bytes = {copy.get(), tensor.bytes.size()};
    }
    whole.tensors.push_back(std::move(tensor));
  }
}

Safetensors open_safetensors(const std::filesystem::path& file) {
  Safetensors whole;
  add_safetensors_file(whole, file);
  return whole;
}

}  // namespace assay
