#include "formats/safetensors_header.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "base/printable.h"

namespace assay {
namespace {

/// Every dtype of safetensors 0.5 whose elements are whole bytes.
constexpr std::array<StoredType, 15> stored_types = {{
    {"F64", 8, DType::f64},
    {"F32", 4, DType::f32},
    {"F16", 2, DType::f16},
    {"BF16", 2, DType::bf16},
    {"F8_E4M3", 1, DType::e4m3},
    {"F8_E5M2", 1, DType::e5m2},
    {"I32", 4, DType::s32},
    {"I8", 1, DType::s8},
    {"U8", 1, DType::u8},
    {"I64", 8, std::nullopt},
    {"I16", 2, std::nullopt},
    {"U64", 8, std::nullopt},
    {"U32", 4, std::nullopt},
    {"U16", 2, std::nullopt},
    {"BOOL", 1, std::nullopt},
}};

/// Far above any published checkpoint (the largest hold some 200,000), far below what would not fit in memory.
constexpr std::size_t most_tensors = std::size_t{1} << 20;
constexpr std::size_t most_metadata = std::size_t{1} << 16;
constexpr std::size_t most_safetensors_extents = 16;
constexpr std::uint64_t most_bytes = std::uint64_t{1} << 62;

/// Follows the JSON parser and accepts exactly the header's grammar; anything else throws at once.
class HeaderReader final : public nlohmann::json_sax<Json> {
 public:
  explicit HeaderReader(const std::string& name) : name_(name) {}

  SafetensorsHeader take() { return std::move(header_); }

  bool start_object(std::size_t) override {
    if (place_ == Place::start) {
      place_ = Place::top;
    } else if (place_ == Place::value && key_ == "__metadata__") {
      if (std::exchange(has_metadata_, true)) fail_user("{}: '__metadata__' stands twice in the header", name_);
      place_ = Place::metadata;
    } else if (place_ == Place::value) {
      begin_tensor();
    } else {
      refuse("an object");
    }
    return true;
  }

  bool end_object() override {
    if (place_ == Place::tensor) end_tensor();
    place_ = place_ == Place::top ? Place::end : Place::top;
    return true;
  }

  bool key(std::string& key) override {
    if (place_ == Place::tensor) {
      begin_field(key);
    } else {
      key_ = key;
      if (place_ == Place::top) place_ = Place::value;
    }
    return true;
  }

  bool start_array(std::size_t) override {
    if (place_ == Place::shape || place_ == Place::offsets) {
      if (!std::exchange(in_array_, true)) return true;
    }
    refuse("an array");
  }

  bool end_array() override {
    in_array_ = false;
    place_ = Place::tensor;
    return true;
  }

  bool string(std::string& text) override {
    if (place_ == Place::metadata) {
      if (header_.metadata.size() == most_metadata) fail_user("{}: holds more than {} metadata", name_, most_metadata);
      if (!header_.metadata.emplace(key_, text).second) {
        fail_user("{}: metadata '{}' stands twice in the header", name_, printable(key_));
      }
    } else if (place_ == Place::dtype) {
      current().tensor.stored = text;
      place_ = Place::tensor;
    } else {
      refuse("a string");
    }
    return true;
  }

  bool number_unsigned(number_unsigned_t value) override {
    if (!in_array_) refuse("a number");
    if (value > most_bytes) fail_user("{}: tensor '{}' has {} in '{}', more than 2^62", name_, shown(), value, field());
    if (place_ == Place::shape) {
      if (current().tensor.shape.size() == most_safetensors_extents) {
        fail_user("{}: tensor '{}' has more than {} extents", name_, shown(), most_safetensors_extents);
      }
      current().tensor.shape.push_back(static_cast<std::int64_t>(value));
    } else {
      if (offsets_ == 2) fail_user("{}: tensor '{}' has more than two data_offsets", name_, shown());
      (offsets_++ == 0 ? current().begin : current().end) = value;
    }
    return true;
  }

  bool number_integer(number_integer_t value) override {
    if (in_array_) fail_user("{}: tensor '{}' has the negative number {} in '{}'", name_, shown(), value, field());
    refuse("a number");
  }

  bool number_float(number_float_t, const std::string&) override {
    if (in_array_)
      fail_user("{}: tensor '{}' has a number in '{}' that is not whole or past 2^64", name_, shown(), field());
    refuse("a number");
  }

  bool null() override { refuse("null"); }
  bool boolean(bool) override { refuse("a boolean"); }
  bool binary(binary_t&) override { refuse("binary data"); }

  bool parse_error(std::size_t at, const std::string&, const Json::exception&) override {
    fail_user("{}: the header is not valid JSON at its byte {}", name_, at);
  }

 private:
  /// What the next value must be.
  enum class Place { start, top, value, metadata, tensor, dtype, shape, offsets, end };
  enum Field : unsigned { dtype_seen = 1, shape_seen = 2, offsets_seen = 4, all_seen = 7 };

  HeaderEntry& current() { return header_.entries.back(); }
  std::string shown() { return printable(current().tensor.name); }
  const char* field() const { return place_ == Place::shape ? "shape" : "data_offsets"; }

  [[noreturn]] void refuse(const char* what) {
    const bool inside =
        place_ == Place::tensor || place_ == Place::dtype || place_ == Place::shape || place_ == Place::offsets;
    const std::string where = inside ? "tensor '" + shown() + "'" : "'" + printable(key_) + "'";
    if (place_ == Place::start) fail_user("{}: the header is {}, an object is needed", name_, what);
    fail_user("{}: the header has {} at {}, where none can stand", name_, what, where);
  }

  void begin_tensor() {
    if (header_.entries.size() == most_tensors) fail_user("{}: holds more than {} tensors", name_, most_tensors);
    header_.entries.emplace_back();
    current().tensor.name = key_;
    seen_ = 0;
    offsets_ = 0;
    place_ = Place::tensor;
  }

  void begin_field(const std::string& key) {
    const auto [place, bit] = key == "dtype"          ? std::pair(Place::dtype, dtype_seen)
                              : key == "shape"        ? std::pair(Place::shape, shape_seen)
                              : key == "data_offsets" ? std::pair(Place::offsets, offsets_seen)
                                                      : std::pair(Place::tensor, all_seen);
    if (place == Place::tensor) fail_user("{}: tensor '{}' has the unknown field '{}'", name_, shown(), printable(key));
    if ((seen_ & bit) != 0) fail_user("{}: tensor '{}' has '{}' twice", name_, shown(), key);
    seen_ |= bit;
    place_ = place;
  }

  void end_tensor() {
    if ((seen_ & dtype_seen) == 0) fail_user("{}: tensor '{}' has no dtype", name_, shown());
    if ((seen_ & shape_seen) == 0) fail_user("{}: tensor '{}' has no shape", name_, shown());
    if (offsets_ != 2) fail_user("{}: tensor '{}' needs two data_offsets", name_, shown());
    check_length();
  }

  /// The dtype is known and the length is what dtype and shape ask for.
  void check_length() {
    StoredTensor& tensor = current().tensor;
    const StoredType* type = find_stored_type(tensor.stored);
    if (type == nullptr)
      fail_user("{}: tensor '{}' has the unknown dtype '{}'", name_, shown(), printable(tensor.stored));
    tensor.dtype = type->dtype;
    std::uint64_t needed = type->bytes;
    for (const std::int64_t extent : tensor.shape) {
      if (__builtin_mul_overflow(needed, static_cast<std::uint64_t>(extent), &needed) || needed > most_bytes) {
        fail_user("{}: tensor '{}' of shape {} has more than 2^62 bytes", name_, shown(), to_string(tensor.shape));
      }
    }
    const auto [begin, end] = std::pair(current().begin, current().end);
    if (begin > end) fail_user("{}: tensor '{}' begins at offset {} and ends at {}", name_, shown(), begin, end);
    if (end - begin != needed) {
      fail_user("{}: tensor '{}' of {} {} needs {} bytes, its offsets span {}", name_, shown(), tensor.stored,
                to_string(tensor.shape), needed, end - begin);
    }
  }

  const std::string& name_;
  SafetensorsHeader header_;
  Place place_ = Place::start;
  std::string key_;
  unsigned seen_ = 0;
  int offsets_ = 0;
  bool in_array_ = false;
  bool has_metadata_ = false;
};

}  // namespace

const StoredType* find_stored_type(std::string_view name) {
  const auto* found =
      std::find_if(stored_types.begin(), stored_types.end(), [&](const StoredType& type) { return name == type.name; });
  return found == stored_types.end() ? nullptr : found;
}

const char* stored_name(DType dtype) {
  const auto* found = std::find_if(stored_types.begin(), stored_types.end(),
                                   [&](const StoredType& type) { return type.dtype == dtype; });
  ASSAY_ASSERT(found != stored_types.end());
  return found->name;
}

SafetensorsHeader parse_safetensors_header(std::string_view json, const std::string& name) {
  HeaderReader reader(name);
  Json::sax_parse(json.begin(), json.end(), &reader);
  return reader.take();
}

}  // namespace assay
