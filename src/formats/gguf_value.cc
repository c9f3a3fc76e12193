#include "formats/gguf_value.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "base/printable.h"

namespace assay {
namespace {

struct GgufTypeRow {
  const char* name;
  std::size_t bytes;  ///< 0: varies.
};
/// By number.
constexpr std::array<GgufTypeRow, 13> gguf_types = {{{"u8", 1},
                                                     {"s8", 1},
                                                     {"u16", 2},
                                                     {"s16", 2},
                                                     {"u32", 4},
                                                     {"s32", 4},
                                                     {"f32", 4},
                                                     {"boolean", 1},
                                                     {"text", 0},
                                                     {"array", 0},
                                                     {"u64", 8},
                                                     {"s64", 8},
                                                     {"f64", 8}}};
constexpr int most_array_depth = 4;

const GgufTypeRow& type_row(GgufType type) {
  return gguf_types[static_cast<std::size_t>(type)];
}

GgufType read_type(ByteReader& reader, std::string_view key) {
  const auto number = reader.value<std::uint32_t>("a value's type");
  if (number >= gguf_types.size()) fail_user("{}: '{}' has the unknown type {}", reader.name(), printable(key), number);
  return static_cast<GgufType>(number);
}

std::span<const std::byte> read_fixed(ByteReader& reader, GgufType type, std::uint64_t count, std::string_view key) {
  const std::size_t size = type_row(type).bytes;
  if (count > reader.remaining() / size) {
    fail_user("{}: '{}' claims {} elements of {}, more than the remaining {} bytes hold", reader.name(), printable(key),
              count, name(type), reader.remaining());
  }
  const auto bytes = reader.take(count * size, "a value");
  const auto is_truth = [](std::byte byte) { return byte <= std::byte{1}; };
  if (type == GgufType::boolean && !std::all_of(bytes.begin(), bytes.end(), is_truth)) {
    fail_user("{}: '{}' holds a truth value that is neither 0 nor 1", reader.name(), printable(key));
  }
  return bytes;
}

struct ArrayHead {
  GgufType element;
  std::uint64_t count;
};

ArrayHead read_array_head(ByteReader& reader, std::string_view key) {
  const GgufType element = read_type(reader, key);
  return {element, reader.value<std::uint64_t>("an array's count")};
}

/// Steps over an array's elements, checking each. Texts and arrays take at least 8 bytes apiece, so a hostile count
/// ends with the file.
void skip_elements(ByteReader& reader, ArrayHead head, std::string_view key, int depth) {
  if (depth > most_array_depth) {
    fail_user("{}: '{}' has arrays nested deeper than {}", reader.name(), printable(key), most_array_depth);
  }
  if (head.element == GgufType::text) {
    for (std::uint64_t i = 0; i < head.count; ++i) reader.text("an array of texts");
  } else if (head.element == GgufType::array) {
    for (std::uint64_t i = 0; i < head.count; ++i) skip_elements(reader, read_array_head(reader, key), key, depth + 1);
  } else {
    read_fixed(reader, head.element, head.count, key);
  }
}

const GgufValue& require(const Gguf& gguf, std::string_view key) {
  const GgufValue* value = gguf.find(key);
  if (value == nullptr) fail_user("{}: has no '{}'", gguf.name, key);
  return *value;
}

[[noreturn]] void fail_type(const Gguf& gguf, const GgufValue& value, const char* needed) {
  const bool array = value.type == GgufType::array;
  fail_user("{}: '{}' is {}{}, {} is needed", gguf.name, value.key, array ? "an array of " : "",
            name(array ? value.element : value.type), needed);
}

const GgufValue& require_array(const Gguf& gguf, std::string_view key, const char* needed) {
  const GgufValue& value = require(gguf, key);
  if (value.type != GgufType::array) fail_type(gguf, value, needed);
  return value;
}

/// Calls use(element) with each number of the value in its own C++ type; false where they are no numbers.
template <typename Use>
bool for_each_number(GgufType type, std::span<const std::byte> bytes, Use&& use) {
  const auto all = [&]<typename T>(T) {
    for (std::size_t i = 0; i < bytes.size() / sizeof(T); ++i) use(element<T>(bytes, i));
    return true;
  };
  switch (type) {
    case GgufType::u8:
      return all(std::uint8_t{});
    case GgufType::s8:
      return all(std::int8_t{});
    case GgufType::u16:
      return all(std::uint16_t{});
    case GgufType::s16:
      return all(std::int16_t{});
    case GgufType::u32:
      return all(std::uint32_t{});
    case GgufType::s32:
      return all(std::int32_t{});
    case GgufType::u64:
      return all(std::uint64_t{});
    case GgufType::s64:
      return all(std::int64_t{});
    case GgufType::f32:
      return all(float{});
    case GgufType::f64:
      return all(double{});
    default:
      return false;
  }
}

bool is_integer(GgufType type) {
  return type_row(type).bytes != 0 && type != GgufType::f32 && type != GgufType::f64 && type != GgufType::boolean;
}

std::vector<std::int64_t> decode_integers(const Gguf& gguf, const GgufValue& value, GgufType type) {
  std::vector<std::int64_t> result;
  result.reserve(value.count);
  for_each_number(type, value.bytes, [&](auto number) {
    if constexpr (std::is_same_v<decltype(number), std::uint64_t>) {
      if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
        fail_user("{}: '{}' holds {}, which passes 2^63 - 1", gguf.name, value.key, number);
      }
    }
    result.push_back(static_cast<std::int64_t>(number));
  });
  return result;
}

}  // namespace

const char* name(GgufType type) {
  return type_row(type).name;
}

GgufValue read_gguf_value(ByteReader& reader) {
  GgufValue value;
  value.key = reader.text("a value's key");
  value.type = read_type(reader, value.key);
  if (value.type == GgufType::text) {
    const std::string_view text = reader.text("a text value");
    value.bytes = std::as_bytes(std::span(text));
  } else if (value.type == GgufType::array) {
    const ArrayHead head = read_array_head(reader, value.key);
    value.element = head.element;
    value.count = head.count;
    ByteReader start = reader;
    skip_elements(reader, head, value.key, 1);
    value.bytes = start.take(reader.at() - start.at(), "an array");
  } else {
    value.bytes = read_fixed(reader, value.type, 1, value.key);
  }
  return value;
}

std::int64_t Gguf::integer(std::string_view key) const {
  const GgufValue& value = require(*this, key);
  if (!is_integer(value.type)) fail_type(*this, value, "an integer");
  return decode_integers(*this, value, value.type)[0];
}

double Gguf::number(std::string_view key) const {
  const GgufValue& value = require(*this, key);
  double result = 0;
  const auto keep = [&](auto number) { result = static_cast<double>(number); };
  if (!for_each_number(value.type, value.bytes, keep)) fail_type(*this, value, "a number");
  return result;
}

bool Gguf::truth(std::string_view key) const {
  const GgufValue& value = require(*this, key);
  if (value.type != GgufType::boolean) fail_type(*this, value, "a boolean");
  return value.bytes[0] == std::byte{1};
}

std::string_view Gguf::text(std::string_view key) const {
  const GgufValue& value = require(*this, key);
  if (value.type != GgufType::text) fail_type(*this, value, "a text");
  return {reinterpret_cast<const char*>(value.bytes.data()), value.bytes.size()};
}

std::vector<std::string_view> Gguf::texts(std::string_view key) const {
  const GgufValue& value = require_array(*this, key, "an array of texts");
  if (value.element != GgufType::text) fail_type(*this, value, "an array of texts");
  std::vector<std::string_view> result;
  result.reserve(value.count);
  ByteReader reader(value.bytes, name);
  for (std::uint64_t i = 0; i < value.count; ++i) result.push_back(reader.text("an array of texts"));
  return result;
}

std::vector<std::int64_t> Gguf::integers(std::string_view key) const {
  const GgufValue& value = require_array(*this, key, "an array of integers");
  if (!is_integer(value.element)) fail_type(*this, value, "an array of integers");
  return decode_integers(*this, value, value.element);
}

std::vector<float> Gguf::floats(std::string_view key) const {
  const GgufValue& value = require_array(*this, key, "an array of f32");
  if (value.element != GgufType::f32) fail_type(*this, value, "an array of f32");
  std::vector<float> result(value.count);
  std::copy_n(value.bytes.data(), value.bytes.size(), reinterpret_cast<std::byte*>(result.data()));
  return result;
}

}  // namespace assay
