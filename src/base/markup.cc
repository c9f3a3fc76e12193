#include "base/markup.h"

#include "base/printable.h"

namespace assay {
namespace {

constexpr const char* replacement = "\xEF\xBF\xBD";

/// Of one ASCII character.
std::string escape(char c) {
  switch (c) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    case '\n':
    case '\r':
    case '\t':
      return " ";
    default:
      return static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? replacement : std::string(1, c);
  }
}

/// U+0080 to U+009F, which HTML reads as other characters.
bool is_c1_control(std::string_view character) {
  return character.size() == 2 && character[0] == '\xC2' && static_cast<unsigned char>(character[1]) < 0xA0;
}

}  // namespace

std::string markup_text(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const std::string_view character = text.substr(0, length);
    if (length == 0 || is_c1_control(character)) {
      result += replacement;
    } else {
      result += length == 1 ? escape(text[0]) : std::string(character);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return result;
}

}  // namespace assay
