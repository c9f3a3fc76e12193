#include "report/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/printable.h"
#include "base/units.h"

namespace assay {
namespace {

bool starts_code_point(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U;
}

/// Bytes of the first `width` code points.
std::size_t bytes_of(std::string_view text, std::size_t width) {
  std::size_t at = 0;
  for (; at < text.size(); ++at) {
    if (starts_code_point(text[at]) && width-- == 0) break;
  }
  return at;
}

}  // namespace

std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), starts_code_point));
}

std::string cut(std::string_view text, std::size_t width) {
  if (display_width(text) <= width) return std::string(text);
  if (width == 0) return "";
  const std::string_view fits = text.substr(0, bytes_of(text, width - 1));
  const std::size_t space = text[fits.size()] == ' ' ? fits.size() : fits.rfind(' ');
  return std::string(space == std::string_view::npos ? fits : fits.substr(0, space)) + "…";
}

std::string pad_left(std::string_view text, std::size_t width) {
  return std::string(width - std::min(width, display_width(text)), ' ') + std::string(text);
}

std::string pad_right(std::string_view text, std::size_t width) {
  return std::string(text) + std::string(width - std::min(width, display_width(text)), ' ');
}

std::string wrap(std::string_view text, std::size_t width, std::size_t indent) {
  std::string wrapped;
  std::size_t room = width;
  while (display_width(text) > room) {
    const std::size_t most = bytes_of(text, room);
    // A space just past the room is a good place too.
    std::size_t space = text.substr(0, most + 1).rfind(' ');
    const bool is_word_longer = space == std::string_view::npos || space == 0;
    if (is_word_longer) space = most;
    wrapped += std::string(text.substr(0, space)) + "\n" + std::string(indent, ' ');
    text.remove_prefix(is_word_longer ? space : space + 1);
    room = width - indent;
  }
  return wrapped + std::string(text);
}

std::string terminal_text(std::string_view text) {
  return printable(text, std::string::npos);
}

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

std::string markdown_cell(std::string_view text) {
  std::string cell;
  for (const char c : text) {
    if (c == '|') cell += '\\';
    cell += c == '\n' || c == '\r' ? ' ' : c;
  }
  return cell;
}

std::string markdown_text(std::string_view text) {
  constexpr std::string_view always = "\\`*[]<>";
  const auto is_letter = [&](std::size_t i) {
    return i < text.size() && std::isalnum(static_cast<unsigned char>(text[i]));
  };
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool is_at_edge = c == '_' && !(i > 0 && is_letter(i - 1) && is_letter(i + 1));
    if (is_at_edge || always.find(c) != std::string_view::npos) result += '\\';
    result += c == '\n' || c == '\r' ? ' ' : c;
  }
  return result;
}

std::string markdown_line(std::string_view text) {
  const bool is_mark = !text.empty() && std::string_view("#+-=~").find(text[0]) != std::string_view::npos;
  return (is_mark ? "\\" : "") + markdown_text(text);
}

std::string ratio_text(double value) {
  return value < 9.995 ? fmt::format("{:.2f}", value) : format_significant(value);
}

}  // namespace assay
