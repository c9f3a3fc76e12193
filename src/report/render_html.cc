#include <fmt/format.h>

#include "base/markup.h"
#include "report/draw/figure.h"
#include "report/html/tables.h"
#include "report/layout.h"
#include "report/render.h"

namespace assay {
namespace {

class HtmlLayout : public FormatLayout {
 public:
  explicit HtmlLayout(std::string id) : id_(std::move(id)) {}

  std::string table(const std::string& caption, const ShownTable& table) override {
    const std::string text = table_html(fmt::format("{}-{}", id_, ++tables_), caption, table);
    return text + (table.reasons.empty() ? "" : list("", table.reasons));
  }

  std::string facts(const std::string& caption, const Facts& facts) override {
    std::string items;
    for (const auto& [title, value] : facts)
      items += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>", markup_text(title), markup_text(value));
    return legend(caption) + "<dl class=\"facts\">" + items + "</dl>\n";
  }

  std::string list(const std::string& caption, const std::vector<std::string>& texts) override {
    std::string items;
    for (const std::string& text : texts) items += "<li>" + markup_text(text) + "</li>";
    return legend(caption) + "<ul>" + items + "</ul>\n";
  }

  std::string paragraph(const std::string& caption, const std::string& text) override {
    return legend(caption) + legend(text);
  }

  std::string legend(const std::string& text) override {
    return text.empty() ? "" : "<p>" + markup_text(text) + "</p>\n";
  }

  std::string figures(const std::vector<Figure>& figures) override {
    std::string drawn;
    for (const Figure& figure : figures) drawn += figure_html(figure);
    return "<div class=\"cards\">\n" + drawn + "</div>\n";
  }

 private:
  std::string id_;
  int tables_ = 0;
};

}  // namespace

std::string html_of(const Document& document, const std::string& id, Detail detail) {
  HtmlLayout layout(id);
  return laid_out(document, layout, detail);
}

}  // namespace assay
