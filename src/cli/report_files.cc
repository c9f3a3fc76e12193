#include "cli/report_files.h"

#include <algorithm>

#include "base/file.h"
#include "report/formats.h"
#include "report/html/page.h"
#include "report/paper.h"
#include "report/phrases.h"

namespace assay {

void add_report_options(CLI::App& command, ReportFiles& files) {
  command.add_option("--html", files.html, "write one self-contained page: charts, tables, what ran, methods");
  command.add_option("--latex", files.latex, "write a LaTeX document (booktabs)");
  command.add_option("--markdown", files.markdown, "write tables, findings, methods and every field");
  command.add_option("--csv", files.csv, "write all fields, a line a record");
}

void check_files(const ReportFiles& files) {
  for (const std::filesystem::path& file : {files.html, files.latex, files.markdown, files.csv}) {
    if (!file.empty()) check_writable(file);
  }
}

void write_files(const ReportFiles& files, std::span<const ReportSource> sources,
                 std::span<const ReportSection> sections, const std::string& title) {
  PageOptions page;
  page.title = title;
  std::vector<Record> records;
  for (const ReportSource& source : sources) {
    records.insert(records.end(), source.document.records.begin(), source.document.records.end());
  }
  if (!files.html.empty()) write_file_atomically(files.html, html_report(sources, sections, page));
  if (!files.latex.empty()) write_file_atomically(files.latex, latex_report(sources, sections, title));
  if (!files.markdown.empty()) write_file_atomically(files.markdown, markdown_paper(sources, sections, title));
  if (!files.csv.empty()) write_file_atomically(files.csv, csv_report(records));
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
