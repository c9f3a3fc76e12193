#include "text/jinja/strings.h"

#include <algorithm>
#include <cstring>

#include "text/unicode.h"

namespace assay::jinja {
namespace {

constexpr long long no_limit = -1;

char upper_letter(char c) {
  return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
}

char lower_letter(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
}

std::string with_letters(std::string_view text, char (*letter)(char)) {
  std::string made(text);
  std::transform(made.begin(), made.end(), made.begin(), letter);
  return made;
}

/// The words between white space. What is left when the splits are used up keeps its inner spaces, not those around it.
std::vector<std::string_view> words(std::string_view text, long long most) {
  std::vector<std::string_view> made;
  for (text = strip(text, Sides::left); !text.empty(); text = strip(text, Sides::left)) {
    if (most != no_limit && static_cast<long long>(made.size()) == most) {
      made.push_back(strip(text, Sides::right));
      break;
    }
    std::size_t end = 0;
    for (std::size_t next = 0; end < text.size() && !is_space(unicode::next_code_point(text, next));) end = next;
    made.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return made;
}

}  // namespace

bool is_space(char32_t c) {
  return (c >= 9 && c <= 13) || (c >= 28 && c <= 32) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

bool is_printable(char32_t c) {
  constexpr int first_separator = 22;  // Zs, Zl, Zp and the categories C follow
  return c == ' ' || unicode::category(c) < first_separator;
}

std::size_t code_points(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::vector<std::string_view> characters(std::string_view text) {
  std::vector<std::string_view> made;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    unicode::next_code_point(text, at);
    made.push_back(text.substr(begin, at - begin));
  }
  return made;
}

std::string_view strip(std::string_view text, Sides sides, const std::optional<std::string_view>& stripped) {
  const std::vector<std::string_view> given = characters(stripped.value_or(""));
  const auto goes = [&](std::string_view c) {
    std::size_t at = 0;
    return stripped ? std::find(given.begin(), given.end(), c) != given.end()
                    : is_space(unicode::next_code_point(c, at));
  };
  while (sides != Sides::right && !text.empty()) {
    std::size_t end = 0;
    unicode::next_code_point(text, end);
    if (!goes(text.substr(0, end))) break;
    text.remove_prefix(end);
  }
  while (sides != Sides::left && !text.empty()) {
    std::size_t begin = text.size();
    unicode::previous_code_point(text, begin);
    if (!goes(text.substr(begin))) break;
    text = text.substr(0, begin);
  }
  return text;
}

std::size_t find_text(std::string_view text, std::string_view part, std::size_t from) {
  if (part.empty()) return from;
  const void* found = memmem(text.data() + from, text.size() - from, part.data(), part.size());
  return found == nullptr ? std::string_view::npos
                          : static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
}

std::vector<std::string_view> split(std::string_view text, const std::optional<std::string_view>& separator,
                                    long long most) {
  if (!separator) return words(text, std::max(most, no_limit));
  std::vector<std::string_view> made;
  std::size_t at = 0;
  while (most < 0 || static_cast<long long>(made.size()) < most) {
    const std::size_t found = find_text(text, *separator, at);
    if (found == std::string_view::npos) break;
    made.push_back(text.substr(at, found - at));
    at = found + separator->size();
  }
  made.push_back(text.substr(at));
  return made;
}

std::string replaced(std::string_view text, std::string_view old, std::string_view by, long long most) {
  std::string made;
  for (const std::string_view piece : split(text, old, most)) {
    if (piece.data() != text.data()) made += by;
    made += piece;
  }
  return made;
}

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

std::string upper(std::string_view text) {
  return with_letters(text, upper_letter);
}

std::string lower(std::string_view text) {
  return with_letters(text, lower_letter);
}

std::string capitalized(std::string_view text) {
  std::string made = lower(text);
  if (!made.empty()) made[0] = upper_letter(made[0]);
  return made;
}

std::string titled(std::string_view text, bool (*ends_word)(char)) {
  std::string made = lower(text);
  bool begins = true;
  for (char& c : made) {
    if (begins) c = upper_letter(c);
    begins = ends_word(c);
  }
  return made;
}

}  // namespace assay::jinja
