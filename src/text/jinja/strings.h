#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Python's `str` on well-formed UTF-8.
namespace assay::jinja {

/// str.isspace() of one character.
bool is_space(char32_t c);
/// str.isprintable() of one character.
bool is_printable(char32_t c);
std::size_t code_points(std::string_view text);
std::vector<std::string_view> characters(std::string_view text);

enum class Sides { both, left, right };
/// Without white space, or without the characters given, at its sides.
std::string_view strip(std::string_view text, Sides sides,
                       const std::optional<std::string_view>& stripped = std::nullopt);

/// Offset of `part` at or behind `from`; npos where it is not. Takes time that is linear in both.
std::size_t find_text(std::string_view text, std::string_view part, std::size_t from = 0);
/// The pieces between separators, which are not empty; at most `most` splits where that is not negative. Without a
/// separator: the words between white space.
std::vector<std::string_view> split(std::string_view text, const std::optional<std::string_view>& separator,
                                    long long most);
/// The first `most` occurrences, all where it is negative. `old` is not empty.
std::string replaced(std::string_view text, std::string_view old, std::string_view by, long long most);

bool is_ascii(std::string_view text);
/// Of ASCII texts.
std::string upper(std::string_view text);
std::string lower(std::string_view text);
std::string capitalized(std::string_view text);
/// A capital after every character that `ends_word` takes for one outside of words.
std::string titled(std::string_view text, bool (*ends_word)(char));

}  // namespace assay::jinja
