#include "formats/table_text.h"

#include <algorithm>

#include "base/error.h"
#include "base/printable.h"
#include "formats/table_parts.h"

namespace assay {
namespace {

/// What is no well-formed UTF-8 becomes the character of that number, as in Latin-1.
std::string as_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text.substr(at));
    if (length > 0) {
      out.append(text.substr(at, length));
      at += length;
      continue;
    }
    const auto byte = static_cast<unsigned char>(text[at++]);
    out += static_cast<char>(0xC0 | byte >> 6);
    out += static_cast<char>(0x80 | (byte & 0x3F));
  }
  return out;
}

}  // namespace

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

bool is_blank(std::string_view text) {
  return trimmed(text).empty();
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

void CellBudget::take(std::size_t cells) {
  if (cells > left_) fail_user("{}: has more than {} cells; give its tables in smaller files", name_, 1 << 20);
  left_ -= cells;
}

TextFormat table_format(std::string_view file_name) {
  std::string end(file_name.substr(file_name.size() - std::min<std::size_t>(4, file_name.size())));
  std::transform(end.begin(), end.end(), end.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return end == ".csv" || end == ".tsv" ? TextFormat::csv : TextFormat::markdown;
}

TextDocument parse_tables(std::string_view text, TextFormat format, const std::string& name) {
  if (text.find('\0') != std::string_view::npos)
    fail_user("{}: is no text (it holds NUL bytes); a .csv or .md file in UTF-8 is needed", name);
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  const std::string utf8 = as_utf8(text);
  CellBudget budget(name);
  return format == TextFormat::csv ? parse_csv(utf8, budget) : parse_markdown(utf8, budget);
}

}  // namespace assay
