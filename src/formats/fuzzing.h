#pragma once

// For the fuzz targets only.

#include <cstdint>
#include <cstdlib>
#include <span>
#include <string_view>
#include <utility>

#include "base/error.h"

namespace assay {

/// Runs `parse` on bytes that no one vouches for: it may refuse them with a user error of one line, and nothing else.
template <typename Parse>
int expect_sound_or_refused(const std::uint8_t* data, std::size_t size, Parse&& parse) {
  try {
    parse(std::as_bytes(std::span(data, size)));
  } catch (const Error& error) {
    const std::string_view message = error.what();
    if (error.code() != ExitCode::user || message.find_first_of("\n\r") != std::string_view::npos) std::abort();
  }
  return 0;
}

/// Reads every byte, so that the sanitizer sees one that lies outside.
inline void touch(std::span<const std::byte> bytes) {
  static volatile unsigned sink = 0;
  unsigned sum = 0;
  for (const std::byte byte : bytes) sum += static_cast<unsigned>(byte);
  sink = sink + sum;
}

}  // namespace assay
