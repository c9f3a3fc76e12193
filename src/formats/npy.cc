#include "formats/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "formats/byte_reader.h"
#include "formats/npy_header.h"

namespace assay {
namespace {

constexpr std::string_view npy_magic = "\x93NUMPY";
/// NumPy itself refuses to parse longer ones unasked.
constexpr std::uint32_t most_npy_header_bytes = 10'000;
/// NumPy pads the header so that elements start at a multiple of this.
constexpr std::size_t alignment = 64;

struct NpyTypeRow {
  NpyType type;
  const char* descr;
  std::size_t bytes;
};
constexpr std::array<NpyTypeRow, 6> npy_types = {{{NpyType::boolean, "|b1", 1},
                                                  {NpyType::u8, "|u1", 1},
                                                  {NpyType::s32, "<i4", 4},
                                                  {NpyType::s64, "<i8", 8},
                                                  {NpyType::f32, "<f4", 4},
                                                  {NpyType::f64, "<f8", 8}}};

NpyType parse_descr(const std::string& text, const std::string& name) {
  for (const NpyTypeRow& row : npy_types) {
    if (text == row.descr) return row.type;
  }
  fail_user("{}: element type '{}' is not read; read are |b1, |u1, <i4, <i8, <f4 and <f8", name, text);
}

std::string_view read_header_text(ByteReader& reader) {
  const auto start = reader.take(npy_magic.size(), "the magic number");
  if (std::memcmp(start.data(), npy_magic.data(), npy_magic.size()) != 0)
    fail_user("{}: is not a .npy file", reader.name());
  const auto major = reader.value<std::uint8_t>("the version");
  const auto minor = reader.value<std::uint8_t>("the version");
  if (major < 1 || major > 3 || minor != 0) {
    fail_user("{}: is version {}.{} of .npy, read are 1.0, 2.0 and 3.0", reader.name(), major, minor);
  }
  const std::uint32_t length = major == 1 ? reader.value<std::uint16_t>("the header's length")
                                          : reader.value<std::uint32_t>("the header's length");
  if (length > most_npy_header_bytes) {
    fail_user("{}: the header claims {} bytes, at most {} are read", reader.name(), length, most_npy_header_bytes);
  }
  const auto bytes = reader.take(length, "the header");
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

template <typename From, typename To>
std::vector<To> converted(std::span<const std::byte> bytes) {
  std::vector<To> result(bytes.size() / sizeof(From));
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = static_cast<To>(element<From>(bytes, i));
  return result;
}

}  // namespace

const char* descr(NpyType type) {
  return npy_types[static_cast<std::size_t>(type)].descr;
}

std::size_t size_of(NpyType type) {
  return npy_types[static_cast<std::size_t>(type)].bytes;
}

NpyArray parse_npy(std::span<const std::byte> bytes, const std::string& name) {
  ByteReader reader(bytes, name);
  NpyHeader header = parse_npy_header(read_header_text(reader), name);
  if (header.fortran_order) fail_user("{}: is in Fortran order, only C order is read", name);
  NpyArray array;
  array.name = name;
  array.type = parse_descr(header.descr, name);
  array.shape = std::move(header.shape);
  std::uint64_t needed = size_of(array.type);
  for (const std::int64_t extent : array.shape) {
    if (__builtin_mul_overflow(needed, static_cast<std::uint64_t>(extent), &needed) || needed >> 62 != 0) {
      fail_user("{}: shape {} has more than 2^62 bytes", name, to_string(array.shape));
    }
  }
  if (needed != reader.remaining()) {
    fail_user("{}: shape {} of {} needs {} bytes, the file has {}", name, to_string(array.shape), descr(array.type),
              needed, reader.remaining());
  }
  array.bytes = reader.take(needed, "the elements");
  const auto is_truth = [](std::byte byte) { return byte <= std::byte{1}; };
  if (array.type == NpyType::boolean && !std::all_of(array.bytes.begin(), array.bytes.end(), is_truth)) {
    fail_user("{}: holds a truth value that is neither 0 nor 1", name);
  }
  return array;
}

NpyArray open_npy(const std::filesystem::path& path) {
  MappedFile file(path);
  NpyArray array = parse_npy(file.bytes(), path.string());
  array.file = std::move(file);
  return array;
}

std::vector<std::int64_t> NpyArray::integers() const {
  switch (type) {
    case NpyType::boolean:
    case NpyType::u8:
      return converted<std::uint8_t, std::int64_t>(bytes);
    case NpyType::s32:
      return converted<std::int32_t, std::int64_t>(bytes);
    case NpyType::s64:
      return converted<std::int64_t, std::int64_t>(bytes);
    default:
      fail_user("{}: holds {}, integers are needed", name, descr(type));
  }
}

std::vector<double> NpyArray::numbers() const {
  switch (type) {
    case NpyType::boolean:
    case NpyType::u8:
      return converted<std::uint8_t, double>(bytes);
    case NpyType::s32:
      return converted<std::int32_t, double>(bytes);
    case NpyType::s64:
      return converted<std::int64_t, double>(bytes);
    case NpyType::f32:
      return converted<float, double>(bytes);
    default:
      return converted<double, double>(bytes);
  }
}

void write_npy(const std::filesystem::path& path, NpyType type, const Shape& shape, std::span<const std::byte> bytes) {
  ASSAY_ASSERT(bytes.size() == static_cast<std::size_t>(element_count(shape)) * size_of(type));
  std::string extents;
  for (const std::int64_t extent : shape) extents += fmt::format("{}{}", extent, shape.size() == 1 ? "," : ", ");
  if (shape.size() > 1) extents.resize(extents.size() - 2);
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr(type), extents);
  const std::size_t unpadded = npy_magic.size() + 4 + header.size() + 1;
  header.append((alignment - unpadded % alignment) % alignment, ' ');
  header += '\n';
  ASSAY_ASSERT(header.size() <= 0xFFFF);
  const auto length = static_cast<std::uint16_t>(header.size());
  const std::array<char, 4> version_and_length = {1, 0, static_cast<char>(length & 0xFF),
                                                  static_cast<char>(length >> 8)};
  const std::string prefix = std::string(npy_magic) + std::string(version_and_length.data(), 4) + header;
  write_file_atomically(path, [&](const ByteSink& sink) {
    sink(std::as_bytes(std::span(prefix)));
    sink(bytes);
  });
}

}  // namespace assay
