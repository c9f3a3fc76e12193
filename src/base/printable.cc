#include "base/printable.h"

#include <fmt/format.h>

#include <algorithm>
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

struct Range {
  std::uint32_t first;
  std::uint32_t last;
};

/// Unicode's categories Cc, Zl and Zp, and Cf without the joiners U+200C and U+200D and the marks that are visible.
constexpr Range unsafe[] = {{0x00, 0x1F},     {0x7F, 0x9F},     {0xAD, 0xAD},     {0x61C, 0x61C},
                            {0x180E, 0x180E}, {0x200B, 0x200B}, {0x200E, 0x200F}, {0x2028, 0x202E},
                            {0x2060, 0x206F}, {0xFEFF, 0xFEFF}, {0xFFF9, 0xFFFB}, {0xE0000, 0xE007F}};

bool is_unsafe(std::uint32_t point) {
  return std::any_of(std::begin(unsafe), std::end(unsafe),
                     [&](const Range& range) { return point >= range.first && point <= range.last; });
}

struct Character {
  std::string_view bytes;
  std::uint32_t point;
  bool is_valid;
};

/// A malformed byte is one by itself.
Character first_of(std::string_view text) {
  const Lead lead = lead_of(static_cast<unsigned char>(text[0]));
  const Character malformed{text.substr(0, 1), 0, false};
  if (lead.length == 0 || lead.length > text.size()) return malformed;
  std::uint32_t point = lead.bits;
  for (std::size_t i = 1; i < lead.length; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte & 0xC0) != 0x80) return malformed;
    point = (point << 6) | (byte & 0x3FU);
  }
  const bool valid = point >= lead.smallest && point <= 0x10FFFF && !(point >= 0xD800 && point <= 0xDFFF);
  return valid ? Character{text.substr(0, lead.length), point, true} : malformed;
}

void append_bytes(std::string& shown, std::string_view bytes) {
  for (const char c : bytes) fmt::format_to(std::back_inserter(shown), "\\x{:02x}", static_cast<unsigned char>(c));
}

/// In UTF-16, as JSON has it.
void append_units(std::string& shown, std::uint32_t point) {
  const auto out = std::back_inserter(shown);
  if (point < 0x10000) {
    fmt::format_to(out, "\\u{:04x}", point);
  } else {
    fmt::format_to(out, "\\u{:04x}\\u{:04x}", 0xD800 + ((point - 0x10000) >> 10), 0xDC00 + ((point - 0x10000) & 0x3FF));
  }
}

bool is_plain_ascii(char c) {
  return (c >= 0x20 && c < 0x7F) || c == '\n' || c == '\t';
}

/// CSV's lines end in CR LF.
bool ends_line(std::string_view text) {
  return text.starts_with("\r\n");
}

/// Where a character begins at or before `at`.
std::size_t character_start(std::string_view text, std::size_t at) {
  while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
  return at;
}

}  // namespace

std::size_t utf8_length(std::string_view text) {
  if (text.empty()) return 0;
  const Character first = first_of(text);
  return first.is_valid ? first.bytes.size() : 0;
}

std::string printable(std::string_view text, std::size_t max_bytes) {
  std::string shown;
  while (!text.empty()) {
    if (shown.size() >= max_bytes) return shown + "...";
    const Character next = first_of(text);
    if (next.is_valid && !is_unsafe(next.point)) {
      shown += next.bytes;
    } else {
      append_bytes(shown, next.bytes);
    }
    text.remove_prefix(next.bytes.size());
  }
  return shown;
}

std::string printable_error(std::string_view text, std::size_t max_bytes) {
  if (text.size() <= max_bytes) return printable(text, max_bytes * 6);  // Escapes are longer than what they stand for.
  const std::string_view head = text.substr(0, character_start(text, max_bytes / 2));
  const std::string_view tail = text.substr(character_start(text, text.size() - max_bytes / 2));
  return printable(head, max_bytes * 6) + " ... " + printable(tail, max_bytes * 6);
}

std::string harmless(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    const auto plain =
        static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), is_plain_ascii) - text.begin());
    shown += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    const Character next = first_of(text);
    if (!next.is_valid) {
      append_bytes(shown, next.bytes);
    } else if (is_unsafe(next.point) && !ends_line(text)) {
      append_units(shown, next.point);
    } else {
      shown += next.bytes;
    }
    text.remove_prefix(next.bytes.size());
  }
  return shown;
}

}  // namespace assay
