#include "formats/gguf.h"

#include <algorithm>
#include <bit>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "base/printable.h"
#include "formats/byte_reader.h"
#include "formats/gguf_value.h"

namespace assay {
namespace {

constexpr std::uint32_t gguf_magic = 0x46554747;  // "GGUF"
/// Published files stay below 2,000 tensors and 100 values; the cap keeps a hostile count within memory.
constexpr std::uint64_t most_entries = std::uint64_t{1} << 20;
constexpr std::uint32_t most_gguf_extents = 4;
constexpr std::uint64_t most_elements = std::uint64_t{1} << 62;
constexpr std::uint64_t default_alignment = 32;
constexpr std::uint64_t most_alignment = std::uint64_t{1} << 20;
/// The shortest a value and a tensor can be, with an empty name.
constexpr std::size_t least_value_bytes = 8 + 4 + 1;
constexpr std::size_t least_tensor_bytes = 8 + 4 + 4 + 8;

/// A tensor whose place in the data is not known to be sound yet.
struct TensorEntry {
  GgufTensor tensor;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

std::uint32_t read_version(ByteReader& reader) {
  if (reader.value<std::uint32_t>("the magic number") != gguf_magic) fail_user("{}: is not a GGUF file", reader.name());
  const auto version = reader.value<std::uint32_t>("the version");
  if (version == 2 || version == 3) return version;
  if (__builtin_bswap32(version) <= 3) fail_user("{}: is big-endian, only little-endian files are read", reader.name());
  fail_user("{}: is GGUF version {}, read are 2 and 3", reader.name(), version);
}

std::uint64_t read_count(ByteReader& reader, const char* what) {
  const auto count = reader.value<std::uint64_t>(what);
  if (count > most_entries)
    fail_user("{}: claims {} {}, at most {} are read", reader.name(), count, what, most_entries);
  return count;
}

void check_room(const ByteReader& reader, std::uint64_t count, std::size_t least_bytes, const char* what) {
  if (count > reader.remaining() / least_bytes) {
    fail_user("{}: claims {} {}, more than its {} remaining bytes can hold", reader.name(), count, what,
              reader.remaining());
  }
}

Shape read_shape(ByteReader& reader, std::string_view tensor) {
  const auto rank = reader.value<std::uint32_t>("a tensor's rank");
  if (rank > most_gguf_extents) {
    fail_user("{}: tensor '{}' has {} extents, at most {} are read", reader.name(), printable(tensor), rank,
              most_gguf_extents);
  }
  Shape shape(rank);
  std::uint64_t elements = 1;
  for (std::uint32_t i = rank; i-- > 0;) {
    const auto extent = reader.value<std::uint64_t>("a tensor's extents");
    if (extent > most_elements || __builtin_mul_overflow(elements, extent, &elements) || elements > most_elements) {
      fail_user("{}: tensor '{}' has more than 2^62 elements", reader.name(), printable(tensor));
    }
    shape[i] = static_cast<std::int64_t>(extent);
  }
  return shape;
}

/// Bytes of the tensor's blocks; a row is a whole number of blocks.
std::uint64_t stored_bytes(const GgufTensor& tensor, const std::string& name) {
  const GgmlLayout& layout = layout_of(tensor.type);
  const auto row = static_cast<std::uint64_t>(tensor.shape.empty() ? 1 : tensor.shape.back());
  if (row % layout.block_elements != 0) {
    fail_user("{}: tensor '{}' of shape {} is stored as {}, whose blocks of {} its rows do not fill", name,
              printable(tensor.name), to_string(tensor.shape), layout.name, layout.block_elements);
  }
  const auto elements = static_cast<std::uint64_t>(element_count(tensor.shape));
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(elements / layout.block_elements, layout.block_bytes, &bytes) || bytes > most_elements) {
    fail_user("{}: tensor '{}' has more than 2^62 bytes", name, printable(tensor.name));
  }
  return bytes;
}

TensorEntry read_tensor(ByteReader& reader) {
  TensorEntry entry;
  entry.tensor.name = reader.text("a tensor's name");
  entry.tensor.shape = read_shape(reader, entry.tensor.name);
  const auto type = reader.value<std::uint32_t>("a tensor's type");
  if (find_ggml_layout(type) == nullptr) {
    fail_user("{}: tensor '{}' is stored as {}; read are {}", reader.name(), printable(entry.tensor.name),
              describe_ggml_type(type), ggml_type_names());
  }
  entry.tensor.type = static_cast<GgmlType>(type);
  entry.bytes = stored_bytes(entry.tensor, reader.name());
  entry.offset = reader.value<std::uint64_t>("a tensor's offset");
  return entry;
}

std::uint64_t alignment_of(const Gguf& gguf) {
  if (gguf.find("general.alignment") == nullptr) return default_alignment;
  const std::int64_t alignment = gguf.integer("general.alignment");
  const auto value = static_cast<std::uint64_t>(alignment);
  if (alignment < 8 || value > most_alignment || !std::has_single_bit(value)) {
    fail_user("{}: general.alignment is {}, a power of two from 8 to {} is needed", gguf.name, alignment,
              most_alignment);
  }
  return value;
}

/// Every tensor lies inside the file at an aligned offset and apart from the others.
void check_aligned_layout(const std::vector<TensorEntry>& by_offset, const Gguf& gguf, std::uint64_t data_start,
                          std::uint64_t file_bytes) {
  const std::uint64_t alignment = alignment_of(gguf);
  std::uint64_t at = 0;
  for (const TensorEntry& entry : by_offset) {
    const auto shown = [&] { return printable(entry.tensor.name); };
    if (entry.offset % alignment != 0) {
      fail_user("{}: tensor '{}' has offset {}, no multiple of {}", gguf.name, shown(), entry.offset, alignment);
    }
    if (entry.offset < at) {
      fail_user("{}: tensor '{}' at offset {} begins inside the tensor before it", gguf.name, shown(), entry.offset);
    }
    if (entry.offset > most_elements) {
      fail_user("{}: tensor '{}' has offset {}, more than 2^62", gguf.name, shown(), entry.offset);
    }
    at = entry.offset + entry.bytes;
    if (data_start + at > file_bytes) {
      fail_user("{}: tensor '{}' ends at byte {}, the file has {}", gguf.name, shown(), data_start + at, file_bytes);
    }
  }
}

template <typename Item, typename Name>
void sort_unique(std::vector<Item>& items, Name Item::*field, const char* what, const std::string& name) {
  std::sort(items.begin(), items.end(), [&](const Item& a, const Item& b) { return a.*field < b.*field; });
  const auto twice = std::adjacent_find(items.begin(), items.end(),
                                        [&](const Item& a, const Item& b) { return a.*field == b.*field; });
  if (twice != items.end()) fail_user("{}: {} '{}' stands twice", name, what, printable((*twice).*field));
}

template <typename Item, typename Name>
const Item* find_sorted(const std::vector<Item>& items, Name Item::*field, std::string_view name) {
  const auto found = std::lower_bound(items.begin(), items.end(), name,
                                      [&](const Item& item, std::string_view key) { return item.*field < key; });
  return found != items.end() && (*found).*field == name ? &*found : nullptr;
}

void place_tensors(Gguf& gguf, std::vector<TensorEntry> entries, std::span<const std::byte> bytes,
                   std::size_t header_end) {
  std::sort(entries.begin(), entries.end(), [](const TensorEntry& a, const TensorEntry& b) {
    return std::tie(a.offset, a.bytes, a.tensor.name) < std::tie(b.offset, b.bytes, b.tensor.name);
  });
  const std::uint64_t alignment = alignment_of(gguf);
  const std::uint64_t data_start = (header_end + alignment - 1) / alignment * alignment;
  check_aligned_layout(entries, gguf, data_start, bytes.size());
  gguf.tensors.reserve(entries.size());
  for (TensorEntry& entry : entries) {
    // An empty tensor behind the last byte has no place to point to.
    if (entry.bytes > 0) entry.tensor.bytes = bytes.subspan(data_start + entry.offset, entry.bytes);
    gguf.tensors.push_back(std::move(entry.tensor));
  }
  sort_unique(gguf.tensors, &GgufTensor::name, "tensor", gguf.name);
}

}  // namespace

const GgufValue* Gguf::find(std::string_view key) const {
  return find_sorted(metadata, &GgufValue::key, key);
}

const GgufTensor* Gguf::find_tensor(std::string_view tensor) const {
  return find_sorted(tensors, &GgufTensor::name, tensor);
}

Gguf parse_gguf(std::span<const std::byte> bytes, const std::string& name) {
  ByteReader reader(bytes, name);
  Gguf gguf;
  gguf.name = name;
  gguf.version = read_version(reader);
  const std::uint64_t tensors = read_count(reader, "tensors");
  const std::uint64_t values = read_count(reader, "values");
  check_room(reader, values, least_value_bytes, "values");
  gguf.metadata.reserve(values);
  for (std::uint64_t i = 0; i < values; ++i) gguf.metadata.push_back(read_gguf_value(reader));
  sort_unique(gguf.metadata, &GgufValue::key, "the key", name);

  check_room(reader, tensors, least_tensor_bytes, "tensors");
  std::vector<TensorEntry> entries;
  entries.reserve(tensors);
  for (std::uint64_t i = 0; i < tensors; ++i) entries.push_back(read_tensor(reader));
  place_tensors(gguf, std::move(entries), bytes, reader.at());
  return gguf;
}

Gguf open_gguf(const std::filesystem::path& path) {
  MappedFile file(path);
  Gguf gguf = parse_gguf(file.bytes(), path.string());
  gguf.file = std::move(file);
  return gguf;
}

void dequantise(const GgufTensor& tensor, std::span<float> out) {
  dequantise(tensor.type, tensor.bytes, out);
}

}  // namespace assay
