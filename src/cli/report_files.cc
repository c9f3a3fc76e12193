#include "cli/report_files.h"

#include <algorithm>

#include "cli/output_options.h"
#include "report/formats.h"
#include "report/html/page.h"
#include "report/paper.h"
#include "report/phrases.h"

namespace assay {

void add_report_options(CLI::App& command, ReportFiles& files) {
  add_output_file(command, "--html", files.html, "write one self-contained page: charts, tables, what ran, methods");
  add_output_file(command, "--latex", files.latex, "write a LaTeX document (booktabs)");
  add_output_file(command, "--markdown", files.markdown, "write tables, findings, methods and every field");
  add_output_file(command, "--csv", files.csv, "write all fields, a line a record");
}

std::vector<OutputFile> files_of(const ReportFiles& files, std::span<const ReportSource> sources,
                                 std::span<const ReportSection> sections, const std::string& title) {
  const auto page = [=] {
    PageOptions options;
    options.title = title;
    return html_report(sources, sections, options);
  };
  const auto table = [=] {
    std::vector<Record> records;
    for (const ReportSource& source : sources) {
      records.insert(records.end(), source.document.records.begin(), source.document.records.end());
    }
    return csv_report(records);
  };
  return {{files.html, page},
          {files.latex, [=] { return latex_report(sources, sections, title); }},
          {files.markdown, [=] { return markdown_paper(sources, sections, title); }},
          {files.csv, table}};
}

std::string report_title(std::span<const ReportSource> sources) {
  std::vector<std::string> models;
  for (const ReportSource& source : sources) {
    for (const Record& record : source.document.records) {
      if (std::find(models.begin(), models.end(), record.model) == models.end()) models.push_back(record.model);
    }
  }
  return models.empty() ? "assay: nothing was measured" : joined(models) + ": precisions measured";
}

}  // namespace assay
