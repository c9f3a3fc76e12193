#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "report/layout.h"
#include "report/render.h"
#include "report/text.h"

namespace assay {
namespace {

constexpr const char* bold = "1";
constexpr const char* green = "32";
constexpr const char* yellow = "33";
constexpr const char* red = "31";

std::string painted(const std::string& text, const char* code) {
  return code == nullptr ? text : fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

/// Of a grade "A" to "D" with blanks around it.
const char* colour_of_grade(const std::string& text) {
  const auto letter = text.find_first_not_of(' ');
  if (letter == std::string::npos) return nullptr;
  return text[letter] == 'A' ? green : text[letter] == 'C' ? yellow : text[letter] == 'D' ? red : nullptr;
}

constexpr std::size_t wide_gap = 2;     ///< Between two columns; in a table that would not fit, 1.
constexpr std::size_t least_text = 16;  ///< A column of texts is not made narrower than that by breaking its lines.

using Lines = std::vector<std::string>;

/// A text in lines of at most `width`.
Lines broken(const std::string& text, std::size_t width) {
  Lines lines;
  const std::string wrapped = wrap(text, std::max<std::size_t>(width, 1), 0);
  for (std::size_t begin = 0; begin <= wrapped.size();) {
    const std::size_t end = std::min(wrapped.find('\n', begin), wrapped.size());
    lines.push_back(wrapped.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

std::size_t longest_word(const std::string& text) {
  std::size_t longest = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    longest = std::max(longest, display_width(std::string_view(text).substr(begin, end - begin)));
    begin = end + 1;
  }
  return longest;
}

/// Cells as a terminal may get them.
ShownTable printable_table(ShownTable table) {
  for (ShownTable::Column& column : table.columns) column.title = terminal_text(column.title);
  for (auto& row : table.rows) {
    for (ShownTable::Cell& cell : row) cell.text = terminal_text(cell.text);
  }
  return table;
}

/// The columns of a table, some of which stand in one block of lines.
class Block {
 public:
  /// How a block is set: blanks between two columns; titles are broken between words into so many lines, or where a
  /// word is long, into more.
  struct Setting {
    std::size_t gap;
    std::size_t title_lines;
  };

  Block(const ShownTable* table, std::vector<std::size_t> columns, Setting setting)
      : table_(table), columns_(std::move(columns)), gap_(setting.gap) {
    for (const std::size_t column : columns_) widths_.push_back(natural_width(column, setting.title_lines));
  }

  std::size_t width() const {
    return std::accumulate(widths_.begin(), widths_.end(), std::size_t{0}) + gap_ * (widths_.size() - 1);
  }

  /// Breaks the widest texts, down to `least_text`, as far as it must to be `most` wide.
  void narrow(std::size_t most) {
    while (width() > most) {
      std::size_t widest = columns_.size();
      for (std::size_t i = 0; i < columns_.size(); ++i) {
        const bool can = table_->columns[columns_[i]].align == Align::left && widths_[i] > least_text;
        if (can && (widest == columns_.size() || widths_[i] > widths_[widest])) widest = i;
      }
      if (widest == columns_.size()) return;
      widths_[widest] = std::max(least_text, widths_[widest] - std::min(widths_[widest], width() - most));
    }
  }

  /// Grades in their colours, where there are colours.
  std::string text(Colour colour) const {
    std::vector<Lines> titles;
    for (std::size_t i = 0; i < columns_.size(); ++i)
      titles.push_back(broken(table_->columns[columns_[i]].title, widths_[i]));
    std::string all = lines_of(bottomed(titles), Colour::off);
    for (const auto& row : table_->rows) {
      std::vector<Lines> cells;
      for (std::size_t i = 0; i < columns_.size(); ++i) cells.push_back(broken(row[columns_[i]].text, widths_[i]));
      all += lines_of(cells, colour);
    }
    return all;
  }

 private:
  std::size_t natural_width(std::size_t column, std::size_t title_lines) const {
    const std::string& title = table_->columns[column].title;
    std::size_t width = std::max<std::size_t>(longest_word(title), 1);
    for (const auto& row : table_->rows) width = std::max(width, display_width(row[column].text));
    while (broken(title, width).size() > title_lines) ++width;
    return width;
  }

  /// Short titles stand on the lowest line.
  static std::vector<Lines> bottomed(std::vector<Lines> titles) {
    std::size_t most = 0;
    for (const Lines& title : titles) most = std::max(most, title.size());
    for (Lines& title : titles) title.insert(title.begin(), most - title.size(), "");
    return titles;
  }

  std::string cell_of(std::size_t i, const std::string& part, Colour colour) const {
    const ShownTable::Column& column = table_->columns[columns_[i]];
    if (column.align == Align::right) return pad_left(part, widths_[i]);
    const char* code = column.role == Table::Role::grade && colour == Colour::on ? colour_of_grade(part) : nullptr;
    return painted(part, code) + pad_right("", widths_[i] - display_width(part));
  }

  std::string lines_of(const std::vector<Lines>& cells, Colour colour) const {
    std::size_t height = 0;
    for (const Lines& cell : cells) height = std::max(height, cell.size());
    std::string all;
    for (std::size_t line = 0; line < height; ++line) {
      std::string text;
      for (std::size_t i = 0; i < cells.size(); ++i) {
        const std::string part = line < cells[i].size() ? cells[i][line] : "";
        text += (i == 0 ? "" : std::string(gap_, ' ')) + cell_of(i, part, colour);
      }
      text.erase(text.find_last_not_of(' ') + 1);
      all += text + "\n";
    }
    return all;
  }

  const ShownTable* table_;
  std::vector<std::size_t> columns_;
  std::vector<std::size_t> widths_;
  std::size_t gap_;
};

/// Made narrower as far as it must: titles take more lines, then columns move together, then texts are broken.
Block fitted_block(const ShownTable& table, const std::vector<std::size_t>& columns, std::size_t width) {
  constexpr Block::Setting settings[] = {{wide_gap, 2}, {wide_gap, SIZE_MAX}, {1, SIZE_MAX}};
  Block block(&table, columns, settings[0]);
  for (const Block::Setting& setting : settings) {
    block = Block(&table, columns, setting);
    if (block.width() <= width) return block;
  }
  block.narrow(width);
  return block;
}

/// A table that is too wide goes on below, with its labels again: no figure is ever cut.
std::string table_text(const ShownTable& table, const TerminalOptions& options) {
  std::vector<std::size_t> labels;
  std::vector<std::size_t> others;
  for (std::size_t i = 0; i < table.columns.size(); ++i)
    (table.columns[i].role == Table::Role::label ? labels : others).push_back(i);
  std::string text;
  do {
    std::vector<std::size_t> columns(table.columns.size());
    std::iota(columns.begin(), columns.end(), std::size_t{0});
    if (!text.empty()) columns = labels, columns.insert(columns.end(), others.begin(), others.end());
    Block block = fitted_block(table, columns, options.width);
    while (block.width() > options.width && columns.size() > labels.size() + 1) {
      columns.pop_back();
      block = fitted_block(table, columns, options.width);
    }
    text += (text.empty() ? "" : "\n") + block.text(options.colour);
    std::erase_if(others, [&](std::size_t i) { return std::find(columns.begin(), columns.end(), i) != columns.end(); });
  } while (!others.empty());
  return text;
}

class TerminalLayout : public FormatLayout {
 public:
  explicit TerminalLayout(const TerminalOptions& options) : options_(options) {}

  std::string table(const std::string& caption, const ShownTable& table) override {
    std::string text = "\n" + heading(caption) + table_text(printable_table(table), options_);
    for (const std::string& reason : table.reasons) text += legend(reason);
    return text;
  }

  std::string facts(const std::string& caption, const Facts& facts) override {
    std::size_t longest = 0;
    for (const auto& [title, value] : facts) longest = std::max(longest, display_width(terminal_text(title)));
    std::string text = "\n" + heading(caption);
    for (const auto& [title, value] : facts) {
      const std::string line = pad_right(terminal_text(title), longest + wide_gap) + terminal_text(value);
      text += wrap(line, options_.width, std::min(longest + wide_gap, options_.width / 2)) + "\n";
    }
    return text;
  }

  std::string list(const std::string& caption, const std::vector<std::string>& texts) override {
    std::string text = "\n" + heading(caption);
    for (const std::string& one : texts) text += wrap("- " + terminal_text(one), options_.width, 2) + "\n";
    return text;
  }

  std::string paragraph(const std::string& caption, const std::string& text) override {
    return "\n" + heading(caption) + legend(text);
  }

  std::string legend(const std::string& text) override {
    return text.empty() ? "" : wrap(terminal_text(text), options_.width, 0) + "\n";
  }

 private:
  std::string heading(const std::string& text) {
    const std::string line = legend(text);
    if (line.empty() || options_.colour == Colour::off) return line;
    return painted(line.substr(0, line.size() - 1), bold) + "\n";
  }

  TerminalOptions options_;
};

}  // namespace

std::string terminal_text_of(const Document& document, const RenderOptions& options) {
  TerminalLayout layout(options.terminal);
  const std::string text = layout.legend(document.subject.title) + laid_out(document, layout, options.detail);
  return text.starts_with('\n') ? text.substr(1) : text;
}

}  // namespace assay
