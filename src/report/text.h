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

/// Text from a record as a terminal may get it: records may come from others, and nothing in them is a command there.
std::string terminal_text(std::string_view text);
/// A field of RFC 4180, quoted where it must be.
std::string csv_field(const std::string& text);
/// A cell of a Markdown table: no line breaks, no bars that would end it.
std::string markdown_cell(std::string_view text);
/// A text of Markdown that shows as it is: on one line, without markup, links or HTML.
std::string markdown_text(std::string_view text);
/// The same where it begins a line or an item: it begins no heading, list or rule.
std::string markdown_line(std::string_view text);
/// "1.23", "12.3": two decimals below 10, what an interval from a noisy machine can carry.
std::string ratio_text(double value);

}  // namespace assay
