#include <fmt/format.h>

#include "report/layout.h"
#include "report/render.h"
#include "report/text.h"

namespace assay {
namespace {

std::string shown_cell(const std::string& text) {
  return markdown_cell(markdown_text(text));
}

class MarkdownLayout : public FormatLayout {
 public:
  std::string table(const std::string& caption, const ShownTable& table) override {
    std::string titles = "|";
    std::string rule = "|";
    for (const ShownTable::Column& column : table.columns) {
      titles += fmt::format(" {} |", shown_cell(column.title));
      rule += column.align == Align::left ? " :-- |" : " --: |";
    }
    std::string text = titles + "\n" + rule + "\n";
    for (const auto& row : table.rows) {
      text += "|";
      for (const ShownTable::Cell& cell : row) text += fmt::format(" {} |", shown_cell(cell.text));
      text += "\n";
    }
    return legend(caption) + "\n" + text + (table.reasons.empty() ? "" : list("", table.reasons));
  }

  std::string facts(const std::string& caption, const Facts& facts) override {
    std::vector<std::string> items;
    for (const auto& [title, value] : facts) items.push_back(title + ": " + value);
    return list(caption, items);
  }

  std::string list(const std::string& caption, const std::vector<std::string>& texts) override {
    std::string items;
    for (const std::string& text : texts) items += "- " + markdown_line(text) + "\n";
    return heading(caption) + "\n" + items;
  }

  std::string paragraph(const std::string& caption, const std::string& text) override {
    return heading(caption) + legend(text);
  }

  std::string legend(const std::string& text) override { return text.empty() ? "" : "\n" + markdown_line(text) + "\n"; }

 private:
  static std::string heading(const std::string& caption) {
    return caption.empty() ? "" : "\n## " + markdown_line(caption) + "\n";
  }
};

}  // namespace

std::string markdown_text_of(const Document& document, Detail detail) {
  MarkdownLayout layout;
  return laid_out(document, layout, detail);
}

}  // namespace assay
