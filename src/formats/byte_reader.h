#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"

namespace assay {

/// The `index`-th of the numbers that the bytes hold, aligned or not.
template <typename T>
T element(std::span<const std::byte> bytes, std::size_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}

/// Walks over untrusted little-endian bytes; every step is checked. `name` (the file) must outlive the reader.
class ByteReader {
 public:
  ByteReader(std::span<const std::byte> bytes, const std::string& name) : bytes_(bytes), name_(name) {}

  std::size_t at() const { return at_; }
  std::size_t remaining() const { return bytes_.size() - at_; }
  const std::string& name() const { return name_; }

  /// `what` completes "the file ends inside ...".
  std::span<const std::byte> take(std::uint64_t count, const char* what) {
    if (count > remaining()) {
      fail_user("{}: the file ends at byte {} inside {}, which takes {} bytes from byte {}", name_, bytes_.size(), what,
                count, at_);
    }
    at_ += count;
    return bytes_.subspan(at_ - count, count);
  }

  template <typename T>
  T value(const char* what) {
    T result;
    std::memcpy(&result, take(sizeof(T), what).data(), sizeof(T));
    return result;
  }

  /// A u64 length and that many bytes.
  std::string_view text(const char* what) {
    const auto bytes = take(value<std::uint64_t>(what), what);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

 private:
  std::span<const std::byte> bytes_;
  const std::string& name_;
  std::size_t at_ = 0;
};

}  // namespace assay
