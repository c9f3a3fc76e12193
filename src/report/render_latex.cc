#include <fmt/format.h>

#include "report/latex.h"
#include "report/layout.h"
#include "report/render.h"

namespace assay {
namespace {

constexpr std::size_t most_wide = 6;  ///< Columns that share the width; more are set small and as wide as they need.

/// Numbers to the right; where the columns share the width, texts are broken.
std::string letters_of(const ShownTable& table) {
  const std::size_t columns = table.columns.size();
  const std::string share = fmt::format("p{{{:.3f}\\linewidth}}", 0.9 / static_cast<double>(columns));
  std::string letters;
  for (const ShownTable::Column& column : table.columns)
    letters += column.align == Align::right ? "r" : columns > most_wide ? "l" : share;
  return letters;
}

class LatexLayout : public FormatLayout {
 public:
  std::string table(const std::string& caption, const ShownTable& table) override {
    std::vector<std::string> titles;
    for (const ShownTable::Column& column : table.columns) titles.push_back(column.title);
    std::string text = latex_table_head(letters_of(table), caption, titles);
    for (const auto& row : table.rows) {
      std::vector<std::string> cells;
      for (const ShownTable::Cell& cell : row) cells.push_back(cell.text);
      text += latex_line(cells);
    }
    const char* size = titles.size() > most_wide ? "\\tiny\\setlength{\\tabcolsep}{2pt}" : "";
    text = fmt::format("{{{}{}\\end{{longtable}}}}\n", size, text);
    return table.reasons.empty() ? text : text + list("", table.reasons);
  }

  std::string facts(const std::string& caption, const Facts& facts) override {
    std::vector<std::string> items;
    for (const auto& [title, value] : facts) items.push_back(title + ": " + value);
    return list(caption, items);
  }

  std::string list(const std::string& caption, const std::vector<std::string>& texts) override {
    std::string items;
    for (const std::string& text : texts) items += "\\item {}" + latex_text(text) + "\n";
    return legend(caption) + "\\begin{itemize}\n" + items + "\\end{itemize}\n";
  }

  std::string paragraph(const std::string& caption, const std::string& text) override {
    return legend(caption) + legend(text);
  }

  std::string legend(const std::string& text) override { return text.empty() ? "" : latex_text(text) + "\n\n"; }
};

}  // namespace

std::string latex_text_of(const Document& document, Detail detail) {
  LatexLayout layout;
  return laid_out(document, layout, detail);
}

}  // namespace assay
