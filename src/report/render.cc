#include "report/render.h"

#include <algorithm>

#include "base/json.h"
#include "report/formats.h"
#include "report/html/page.h"
#include "report/paper.h"
#include "report/phrases.h"

namespace assay {
namespace {

/// Sections are told as a paper tells them.
std::string terminal_of(const ReportParts& parts, const std::string& title, const RenderOptions& options) {
  if (!parts.sections.empty()) return markdown_paper(parts.sources, parts.sections, title);
  std::string text;
  for (const ReportSource& source : parts.sources)
    text += source.document.tells() ? terminal_text_of(source.document, options)
                                    : terminal_report(source.document, options.terminal);
  return text;
}

void add_labelled(const std::string& label, const Document& document, OrderedJson& list) {
  OrderedJson json = {{"label", label}};
  json.update(to_json(document));
  list.push_back(std::move(json));
}

std::string json_of(const ReportParts& parts) {
  if (parts.sources.size() == 1 && parts.sections.empty()) return json_report(parts.sources.front().document);
  OrderedJson list = OrderedJson::array();
  for (const ReportSource& source : parts.sources) add_labelled(source.label, source.document, list);
  for (const ReportSection& section : parts.sections) {
    if (section.document.tells()) add_labelled(section.title, section.document, list);
  }
  const OrderedJson json = {{"schema", "assay-documents-1"}, {"documents", std::move(list)}};
  return json.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

/// Documents of records go into one table; every other has tables of its own.
std::string csv_of(const ReportParts& parts) {
  std::vector<Record> records;
  std::string text;
  for (const ReportSource& source : parts.sources) {
    const Document& document = source.document;
    if (document.tables.empty())
      records.insert(records.end(), document.records.begin(), document.records.end());
    else
      text += (text.empty() ? "" : "\r\n") + csv_text_of(document);
  }
  for (const ReportSection& section : parts.sections) {
    const std::string tables = csv_text_of(section.document);
    text += (text.empty() || tables.empty() ? "" : "\r\n") + tables;
  }
  if (records.empty() && !text.empty()) return text;
  return csv_report(records) + (text.empty() ? "" : "\r\n" + text);
}

std::string html_page(const ReportParts& parts, const std::string& title, Detail detail) {
  PageOptions page;
  page.title = title;
  page.detail = detail;
  return html_report(parts.sources, parts.sections, page);
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

std::string render(const ReportParts& parts, ReportFormat format, const RenderOptions& options) {
  const std::string title = options.title.empty() ? report_title(parts.sources) : options.title;
  switch (format) {
    case ReportFormat::terminal:
      return terminal_of(parts, title, options);
    case ReportFormat::json:
      return json_of(parts);
    case ReportFormat::csv:
      return csv_of(parts);
    case ReportFormat::markdown:
      return markdown_paper(parts.sources, parts.sections, title);
    case ReportFormat::latex:
      return latex_report(parts.sources, parts.sections, title);
    case ReportFormat::html:
      return html_page(parts, title, options.detail);
  }
  return "";
}

std::string render(const Document& document, ReportFormat format, const RenderOptions& options) {
  const ReportSource source{"", document};
  return render(ReportParts{std::span(&source, 1)}, format, options);
}

}  // namespace assay
