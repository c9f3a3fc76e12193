#pragma once

// For the tests of this room only.

#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "base/testing.h"

namespace assay {

/// A header that no reader may accept, and a part of what it says to it.
struct HostileHeader {
  const char* header;
  const char* message;
};

inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

template <typename T>
std::string little_endian(T value) {
  std::string bytes(sizeof(value), '\0');
  std::memcpy(bytes.data(), &value, sizeof(value));
  return bytes;
}

}  // namespace assay
