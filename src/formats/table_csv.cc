#include <algorithm>
#include <array>

#include "formats/table_parts.h"

namespace assay {
namespace {

/// Whichever of ',', ';' and tab stands most often in the first line that is no comment, outside of quotes.
char delimiter_of(std::string_view text) {
  while (text.starts_with('#')) text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  std::array<std::size_t, 3> counts = {};
  constexpr std::string_view known = ",;\t";
  bool quoted = false;
  for (const char c : text) {
    if (c == '"') quoted = !quoted;
    if (quoted) continue;
    if (c == '\n') break;
    if (const auto which = known.find(c); which != std::string_view::npos) ++counts[which];
  }
  const auto most = std::max_element(counts.begin(), counts.end());
  return known[static_cast<std::size_t>(most - counts.begin())];
}

class CsvReader {
 public:
  CsvReader(std::string_view text, CellBudget& budget) : text_(text), delimiter_(delimiter_of(text)), budget_(budget) {}

  bool is_at_end() const { return at_ >= text_.size(); }

  TextRow read_row() {
    TextRow row;
    row.line = line_;
    do {
      budget_.take(1);
      row.cells.push_back(read_cell());
    } while (take(delimiter_));
    take('\r');
    if (take('\n')) ++line_;
    return row;
  }

 private:
  bool take(char c) {
    if (is_at_end() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  std::string read_cell() {
    while (!is_at_end() && text_[at_] == ' ') ++at_;
    std::string cell;
    if (take('"')) cell = read_quoted();
    while (!is_at_end() && text_[at_] != delimiter_ && text_[at_] != '\n') cell += text_[at_++];
    return std::string(trimmed(cell));
  }

  std::string read_quoted() {
    std::string cell;
    while (!is_at_end()) {
      const char c = text_[at_++];
      if (c == '"' && !take('"')) break;
      if (c == '\n') ++line_;
      cell += c == '\n' || c == '\r' ? ' ' : c;
    }
    return cell;
  }

  std::string_view text_;
  char delimiter_;
  CellBudget& budget_;
  std::size_t at_ = 0;
  int line_ = 1;
};

bool is_empty(const TextRow& row) {
  return std::all_of(row.cells.begin(), row.cells.end(), [](const std::string& cell) { return cell.empty(); });
}

}  // namespace

TextDocument parse_csv(std::string_view text, CellBudget& budget) {
  CsvReader reader(text, budget);
  ParsedTable table;
  while (!reader.is_at_end()) {
    TextRow row = reader.read_row();
    if (is_empty(row)) continue;
    if (row.cells.front().starts_with('#')) {
      for (const std::string& words : row.cells) table.paragraph += (table.paragraph.empty() ? "" : " ") + words;
      continue;
    }
    if (table.header.empty()) {
      table.line = row.line;
      table.header = std::move(row.cells);
    } else {
      table.rows.push_back(std::move(row));
    }
  }
  TextDocument document;
  if (table.header.size() > 1 || !table.rows.empty()) document.tables.push_back(std::move(table));
  return document;
}

}  // namespace assay
