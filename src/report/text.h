#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace assay {

/// Columns that a UTF-8 text takes on a terminal, one for each code point.
std::size_t display_width(std::string_view text);
/// Cut to `width` columns, the last one an ellipsis where something was cut.
std::string cut(std::string_view text, std::size_t width);
/// Spaces before or after up to `width` columns.
std::string pad_left(std::string_view text, std::size_t width);
std::string pad_right(std::string_view text, std::size_t width);
/// Broken at spaces into lines of at most `width` columns, all but the first indented by `indent`; a longer word is
/// split. No newline at the end.
std::string wrap(std::string_view text, std::size_t width, std::size_t indent);

}  // namespace assay
