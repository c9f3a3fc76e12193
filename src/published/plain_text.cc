#include <algorithm>
#include <cctype>

#include "base/printable.h"
#include "published/figure.h"

namespace assay {
namespace {

/// The code point of a well-formed character.
unsigned code_point(std::string_view character) {
  if (character.size() == 1) return static_cast<unsigned char>(character[0]);
  unsigned code = static_cast<unsigned char>(character[0]) & (0x7Fu >> character.size());
  for (const char c : character.substr(1)) code = code << 6 | (static_cast<unsigned char>(c) & 0x3Fu);
  return code;
}

/// Symbols that say nothing of a figure: daggers, superscripts, arrows, checks, emoji, variation selectors.
bool is_ornament(unsigned code) {
  if (code == 0x2020 || code == 0x2021 || code == 0xA7 || code == 0xB6 || code == 0xAE || code == 0x2122) return true;
  if (code == 0xB9 || code == 0xB2 || code == 0xB3 || (0x2070 <= code && code <= 0x209F)) return true;
  if (0x2190 <= code && code <= 0x21FF) return true;
  if (0x2300 <= code && code <= 0x23FF) return true;
  if (0x2500 <= code && code <= 0x27BF) return true;
  if (0x2B00 <= code && code <= 0x2BFF) return true;
  return code == 0x200D || code == 0xFE0E || code == 0xFE0F || code >= 0x1F000;
}

bool is_space(unsigned code) {
  return code == ' ' || code == '\t' || code == '\r' || code == 0xA0 || (0x2000 <= code && code <= 0x200B) ||
         code == 0x202F;
}

/// Takes away <br>, <b>, <sub>2</sub>'s tags; a '<' that opens no tag stays ("<10").
std::string without_tags(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto end = text[i] == '<' ? text.find('>', i) : std::string_view::npos;
    const bool is_tag = end != std::string_view::npos && i + 1 < text.size() &&
                        (std::isalpha(static_cast<unsigned char>(text[i + 1])) || text[i + 1] == '/');
    if (!is_tag) {
      out += text[i];
      continue;
    }
    out += ' ';
    i = end;
  }
  return out;
}

/// "[3.4](#note)" is 3.4, "[^1]" nothing.
std::string without_links(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto close = text[i] == '[' ? text.find(']', i) : std::string_view::npos;
    if (close == std::string_view::npos) {
      out += text[i];
      continue;
    }
    if (text.substr(i).starts_with("[^")) {
      i = close;
    } else if (close + 1 < text.size() && text[close + 1] == '(') {
      const auto end = text.find(')', close);
      if (end == std::string_view::npos) return out.append(text.substr(i));
      out.append(text.substr(i + 1, close - i - 1));
      i = end;
    } else {
      out.append(text.substr(i, close - i + 1));
      i = close;
    }
  }
  return out;
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

}  // namespace

std::string plain_text(std::string_view cell) {
  constexpr std::size_t longest = 400;
  std::string text = without_links(without_tags(cell.substr(0, longest)));
  replace_all(text, "\\pm", "±");
  replace_all(text, "\\times", "×");
  for (const char* mark : {"**", "__", "~~", "`", "$", "*"}) replace_all(text, mark, "");
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(std::string_view(text).substr(at));
    const std::string_view character = std::string_view(text).substr(at, std::max<std::size_t>(length, 1));
    at += character.size();
    if (length == 0) continue;
    const unsigned code = code_point(character);
    if (is_space(code) || is_ornament(code)) {
      // A check mark may stand between words; it separates them.
      if (!out.empty() && out.back() != ' ') out += ' ';
    } else {
      out += character;
    }
  }
  while (out.ends_with(' ')) out.pop_back();
  return out;
}

}  // namespace assay
