#include "base/printable.h"

#include <fmt/format.h>

#include <cstdint>
#include <iterator>

namespace assay {
namespace {

struct Lead {
  std::size_t length;
  std::uint32_t bits;      ///< Payload of the first byte.
  std::uint32_t smallest;  ///< Anything below is overlong.
};

Lead lead_of(unsigned char byte) {
  if (byte < 0x80) return {1, byte, 0};
  if ((byte & 0xE0) == 0xC0) return {2, byte & 0x1FU, 0x80};
  if ((byte & 0xF0) == 0xE0) return {3, byte & 0x0FU, 0x800};
  if ((byte & 0xF8) == 0xF0) return {4, byte & 0x07U, 0x10000};
  return {0, 0, 0};
}

/// C0, DEL, and C1, which terminals obey too.
bool is_control(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return first < 0x20 || first == 0x7F;
  return character.size() == 2 && first == 0xC2 && static_cast<unsigned char>(character[1]) < 0xA0;
}

/// U+2028 and U+2029 end a line for many readers.
bool is_line_end(std::string_view character) {
  return character == "\u2028" || character == "\u2029";
}

}  // namespace

std::size_t utf8_length(std::string_view text) {
  if (text.empty()) return 0;
  const Lead lead = lead_of(static_cast<unsigned char>(text[0]));
  if (lead.length == 0 || lead.length > text.size()) return 0;
  std::uint32_t point = lead.bits;
  for (std::size_t i = 1; i < lead.length; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte & 0xC0) != 0x80) return 0;
    point = (point << 6) | (byte & 0x3FU);
  }
  const bool valid = point >= lead.smallest && point <= 0x10FFFF && !(point >= 0xD800 && point <= 0xDFFF);
  return valid ? lead.length : 0;
}

std::string printable(std::string_view text, std::size_t max_bytes) {
  std::string shown;
  while (!text.empty()) {
    if (shown.size() >= max_bytes) return shown + "...";
    const std::size_t length = utf8_length(text);
    const std::string_view character = text.substr(0, length == 0 ? 1 : length);
    if (length == 0 || is_control(character) || is_line_end(character)) {
      for (const char c : character) {
        fmt::format_to(std::back_inserter(shown), "\\x{:02x}", static_cast<unsigned char>(c));
      }
    } else {
      shown += character;
    }
    text.remove_prefix(character.size());
  }
  return shown;
}

}  // namespace assay
