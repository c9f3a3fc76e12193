#include "report/render.h"

#include <algorithm>

#include "base/json.h"
#include "report/csv.h"
#include "report/formats.h"
#include "report/html/page.h"
#include "report/paper.h"
#include "report/phrases.h"
#include "report/records/described.h"
#include "report/text.h"
#include "rules/verdict.h"

namespace assay {
namespace {

std::string terminal_of(std::span<const ReportSource> sources, const RenderOptions& options) {
  std::string text;
  for (const ReportSource& source : sources) {
    const std::string label = sources.size() > 1 ? terminal_text(source.label) + "\n\n" : "";
    text += (text.empty() ? "" : "\n") + label + terminal_text_of(described(source.document, options.detail), options);
  }
  return text;
}

std::string json_of(std::span<const ReportSource> sources) {
  if (sources.size() == 1) return json_report(sources.front().document);
  OrderedJson list = OrderedJson::array();
  for (const ReportSource& source : sources) {
    list.push_back({{"label", source.label}});
    list.back().update(to_json(source.document));
  }
  const OrderedJson json = {{"schema", "assay-documents-1"}, {"documents", std::move(list)}};
  return json.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

/// Documents of records go into one table; every other has tables of its own.
std::string csv_of(std::span<const ReportSource> sources) {
  std::vector<CsvRecord> records;
  std::string text;
  for (const ReportSource& source : sources) {
    const Document& document = source.document;
    if (document.tables.empty() || !tells_in_their_place(document))
      for (const Record& record : document.records) records.push_back({record, {}, document.origin});
    else
      text += (text.empty() ? "" : "\r\n") + csv_text_of(document);
  }
  if (records.empty() && !text.empty()) return text;
  return csv_of_records(records) + (text.empty() ? "" : "\r\n" + text);
}

std::string html_page(std::span<const ReportSource> sources, const std::string& title, Detail detail) {
  PageOptions page;
  page.title = title;
  page.detail = detail;
  return html_report(sources, page);
}

}  // namespace

std::string report_title(std::span<const ReportSource> sources) {
  if (sources.size() == 1 && !sources.front().document.subject.title.empty())
    return sources.front().document.subject.title;
  std::vector<std::string> models;
  for (const ReportSource& source : sources) {
    for (const Record& record : source.document.records) {
      if (std::find(models.begin(), models.end(), record.setting.model) == models.end())
        models.push_back(record.setting.model);
    }
  }
  return models.empty() ? "assay: nothing was measured" : joined(models) + ": precisions measured";
}

std::string render(std::span<const ReportSource> given, ReportFormat format, const RenderOptions& options) {
  if (format == ReportFormat::json) return json_of(given);
  if (format == ReportFormat::csv) return csv_of(given);
  const std::vector<ReportSource> sources = with_shown_models(given);
  const std::string title = options.title.empty() ? report_title(sources) : options.title;
  switch (format) {
    case ReportFormat::terminal:
      return terminal_of(sources, options);
    case ReportFormat::markdown:
      return markdown_paper(sources, title);
    case ReportFormat::latex:
      return latex_report(sources, title);
    case ReportFormat::html:
      return html_page(sources, title, options.detail);
    case ReportFormat::json:
    case ReportFormat::csv:
      break;  // Above.
  }
  return "";
}

std::string render(const Document& document, ReportFormat format, const RenderOptions& options) {
  const ReportSource source{"", document};
  return render(std::span(&source, 1), format, options);
}

}  // namespace assay
