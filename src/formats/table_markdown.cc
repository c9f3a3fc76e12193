#include <algorithm>

#include "formats/table_parts.h"

namespace assay {
namespace {

bool is_struck(const std::string& cell) {
  return cell.size() > 4 && cell.starts_with("~~") && cell.ends_with("~~");
}

TextRow text_row(std::vector<std::string> cells, std::size_t line) {
  TextRow row;
  row.line = static_cast<int>(line) + 1;
  // "~~Mixed~~ | ~~Remove~~ | why": a row whose first cell is struck is struck.
  row.is_struck = !cells.empty() && is_struck(cells.front());
  row.cells = std::move(cells);
  return row;
}

class MarkdownReader {
 public:
  MarkdownReader(std::string_view text, CellBudget& budget) : lines_(lines_of(text)), budget_(budget) {}

  TextDocument read() {
    while (at_ < lines_.size()) {
      if (!read_pipe_table() && !read_plain_table()) read_prose();
    }
    return std::move(document_);
  }

 private:
  std::string_view line(std::size_t at) const { return at < lines_.size() ? lines_[at] : std::string_view(); }

  ParsedTable new_table() const {
    ParsedTable table;
    table.line = static_cast<int>(at_) + 1;
    table.headings = headings_;
    while (!table.headings.empty() && table.headings.back().empty()) table.headings.pop_back();
    if (!table.headings.empty()) table.title = table.headings.back();
    table.paragraph = paragraph_;
    return table;
  }

  void keep(ParsedTable table, std::size_t next) {
    document_.tables.push_back(std::move(table));
    at_ = next;
    is_paragraph_over_ = true;
  }

  bool read_pipe_table() {
    const std::string_view header = line(at_);
    if (header.find('|') == std::string_view::npos || is_pipe_rule(header) || !is_pipe_rule(line(at_ + 1)))
      return false;
    ParsedTable table = new_table();
    table.header = split_pipes(header);
    budget_.take(table.header.size());
    std::size_t next = at_ + 2;
    for (; line(next).find('|') != std::string_view::npos || is_pipe_rule(line(next)); ++next) {
      if (is_pipe_rule(line(next))) continue;
      std::vector<std::string> cells = split_pipes(line(next));
      budget_.take(cells.size());
      table.rows.push_back(text_row(std::move(cells), next));
    }
    keep(std::move(table), next);
    return true;
  }

  bool read_plain_table() {
    const std::string_view header = line(at_);
    if (is_rule(header) || !is_rule(line(at_ + 1)) || split_columns(header).size() < 2) return false;
    ParsedTable table = new_table();
    table.header = split_columns(header);
    budget_.take(table.header.size());
    std::size_t next = at_ + 2;
    for (; next < lines_.size() && !is_blank(line(next)) && !line(next).starts_with("```"); ++next) {
      if (is_rule(line(next))) continue;
      std::vector<std::string> cells = split_row(line(next), header);
      if (cells.size() < 2) break;
      budget_.take(cells.size());
      table.rows.push_back(text_row(std::move(cells), next));
    }
    if (table.rows.empty()) return false;
    keep(std::move(table), next);
    return true;
  }

  void read_heading(std::string_view text) {
    const std::size_t level = std::min<std::size_t>(text.find_first_not_of('#'), 7);
    headings_.resize(level - 1);
    headings_.emplace_back(trimmed(text.substr(level)));
    paragraph_.clear();
  }

  void read_prose() {
    const std::string_view text = trimmed(line(at_));
    ++at_;
    if (text.empty()) {
      is_paragraph_over_ = true;
      return;
    }
    document_.prose.push_back({static_cast<int>(at_), std::string(text)});
    const auto hashes = text.find_first_not_of('#');
    if (hashes > 0 && hashes < 7 && text[hashes] == ' ') return read_heading(text);
    if (is_paragraph_over_) paragraph_.clear();
    is_paragraph_over_ = false;
    constexpr std::size_t longest = 4000;
    if (paragraph_.size() < longest) paragraph_ += (paragraph_.empty() ? "" : " ") + std::string(text);
  }

  std::vector<std::string_view> lines_;
  CellBudget& budget_;
  TextDocument document_;
  std::vector<std::string> headings_;  ///< By level; empty where a level was skipped.
  std::string paragraph_;
  bool is_paragraph_over_ = false;
  std::size_t at_ = 0;
};

}  // namespace

bool is_pipe_rule(std::string_view line) {
  const std::string_view text = trimmed(line);
  if (text.find_first_of("|+") == std::string_view::npos) return false;
  if (text.find_first_not_of("|+-=: \t") != std::string_view::npos) return false;
  return text.find_first_of("-=") != std::string_view::npos;
}

std::vector<std::string> split_pipes(std::string_view line) {
  std::string_view text = trimmed(line);
  if (text.starts_with('|')) text.remove_prefix(1);
  if (text.ends_with('|') && !text.ends_with("\\|")) text.remove_suffix(1);
  std::vector<std::string> cells = {""};
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size() && text[i + 1] == '|') {
      cells.back() += '|';
      ++i;
    } else if (text[i] == '|') {
      cells.emplace_back();
    } else {
      cells.back() += text[i];
    }
  }
  for (std::string& cell : cells) cell = trimmed(cell);
  return cells;
}

TextDocument parse_markdown(std::string_view text, CellBudget& budget) {
  return MarkdownReader(text, budget).read();
}

}  // namespace assay
