#include "report/layout.h"

namespace assay {
namespace {

std::string values_of(const Table& table, Detail detail) {
  std::string values;
  for (const auto& row : shown_table(table, detail).rows) values += (values.empty() ? "" : ", ") + row.front().text;
  return values;
}

std::string part_of(const Table& table, FormatLayout& layout, Detail detail) {
  if (table.form == Table::Form::values) return layout.paragraph(table.caption, values_of(table, detail));
  if (table.form == Table::Form::facts) {
    const Facts facts = shown_facts(table, detail);
    return facts.empty() ? "" : layout.facts(table.caption, facts);
  }
  const ShownTable text = shown_table(table, detail);
  return text.columns.empty() ? "" : layout.table(table.caption, text);
}

std::string whole_table(const Table& table, FormatLayout& layout, Detail detail) {
  if (!shows(detail, table.detail)) return "";
  const std::string part = part_of(table, layout, detail);
  return part.empty() || table.legend.empty() ? part : part + layout.legend(table.legend);
}

std::vector<Figure> shown_figures(const Document& document, Detail detail) {
  std::vector<Figure> shown;
  for (const Figure& figure : document.figures) {
    if (shows(detail, figure.detail)) shown.push_back(figure);
  }
  return shown;
}

}  // namespace

std::string laid_out(const Document& document, FormatLayout& layout, Detail detail) {
  std::string text = whole_table(document.subject.facts, layout, detail);
  const std::vector<Figure> figures = shown_figures(document, detail);
  if (!figures.empty()) text += layout.figures(figures);
  for (const Detail level : {Detail::brief, Detail::details}) {
    for (const Table& table : document.tables) {
      if (table.detail == level) text += whole_table(table, layout, detail);
    }
    for (const Sentences& sentences : document.sentences) {
      if (sentences.detail == level && !sentences.texts.empty() && shows(detail, level))
        text += layout.list(sentences.title, sentences.texts);
    }
  }
  return text + whole_table(document.methods, layout, detail);
}

}  // namespace assay
