#include "cli/outputs.h"

#include <unistd.h>

#include <algorithm>
#include <iterator>

#include "base/error.h"
#include "base/streams.h"
#include "cli/origin.h"
#include "cli/output_options.h"
#include "results/seal.h"
#include "studies/shared/hindrance.h"

namespace assay {
namespace {

void show(const std::string& text, const TerminalOptions& terminal) {
  terminal.colour == Colour::on ? print_coloured(text) : print(text);
}

std::vector<OutputFile> files_of(const OutputOptions& outputs, const std::function<std::string(ReportFormat)>& text) {
  const auto as = [&](ReportFormat format) { return [text, format] { return text(format); }; };
  return {{outputs.json, as(ReportFormat::json)},
          {outputs.csv, as(ReportFormat::csv)},
          {outputs.markdown, as(ReportFormat::markdown)},
          {outputs.latex, as(ReportFormat::latex)},
          {outputs.html, as(ReportFormat::html)}};
}

RenderOptions options_of(ReportFormat format, RenderOptions options, const OutputOptions& outputs) {
  options.detail = format == ReportFormat::terminal ? outputs.shown : Detail::details;
  return options;
}

void add_json_option(CLI::App& command, std::filesystem::path& file, JsonOption kind) {
  switch (kind) {
    case JsonOption::file:
      add_output_file(command, "--json", file, "write everything (-: to standard output)");
      return;
    case JsonOption::flag:
      add_json_flag(command, file);
      return;
    case JsonOption::either:
      mark_output_file(*command
                            .add_option_function<std::string>(
                                "--json",
                                [&file](const std::string& word) { file = word.empty() ? standard_output_path : word; },
                                "print everything as JSON, or write it to the file given")
                            ->expected(0, 1));
      return;
  }
}

void add_rows(const Document& document, std::vector<CsvRecord>& rows) {
  for (const Record& record : document.records) rows.push_back({record, {}, document.origin});
}

void append(std::vector<OutputFile> more, std::vector<OutputFile>& files) {
  files.insert(files.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

/// What would go where nobody reads is left out.
void drop_unread(Readers readers, std::vector<OutputFile>& files) {
  if (readers == Readers::none)
    std::erase_if(files, [](const OutputFile& file) { return file.path == standard_output_path; });
}

/// Every file that is written says where it comes from. What was read says so already.
Document with_origin(Document document) {
  if (!document.origin) document.origin = run_origin();
  return sealed(std::move(document));
}

}  // namespace

bool OutputOptions::takes_stdout() const {
  const std::filesystem::path* const files[] = {&json, &csv, &markdown, &latex, &html};
  return std::any_of(std::begin(files), std::end(files),
                     [](const auto* file) { return *file == standard_output_path; }) ||
         std::find(record_files.begin(), record_files.end(), standard_output_path) != record_files.end();
}

bool OutputOptions::empty() const {
  return json.empty() && csv.empty() && markdown.empty() && latex.empty() && html.empty() &&
         std::all_of(record_files.begin(), record_files.end(), [](const auto& file) { return file.empty(); });
}

void add_output_options(CLI::App& command, OutputOptions& outputs, JsonOption json) {
  add_json_option(command, outputs.json, json);
  add_output_file(command, "--csv", outputs.csv, "write all fields, a line a row");
  add_output_file(command, "--markdown", outputs.markdown, "write tables, sentences, methods");
  add_output_file(command, "--latex", outputs.latex, "write a LaTeX document (booktabs)");
  add_output_file(command, "--html", outputs.html, "write one self-contained page: charts, tables, methods");
  command.add_flag_callback(
      "--details", [&outputs] { outputs.shown = Detail::details; }, "print everything, not the gist alone");
}

void add_record_outputs(CLI::App& command, OutputOptions& outputs) {
  outputs.record_files.resize(record_formats().size());
  for (std::size_t i = 0; i < record_formats().size(); ++i)
    add_output_file(command, record_formats()[i].option, outputs.record_files[i], record_formats()[i].about);
}

std::vector<OutputFile> record_outputs(const OutputOptions& outputs,
                                       const std::function<std::vector<CsvRecord>()>& rows) {
  std::vector<OutputFile> files;
  files.reserve(outputs.record_files.size());
  for (std::size_t i = 0; i < outputs.record_files.size(); ++i)
    files.push_back({outputs.record_files[i], [rows, i] { return record_formats()[i].text(rows()); }});
  return files;
}

void deliver(const Document& found, const OutputOptions& outputs, const OwnTexts& own,
             const std::vector<OutputFile>& more) {
  const Document document = with_origin(found);
  RenderOptions options;
  options.terminal.colour = colour_for(STDOUT_FILENO);
  const auto text = [&](ReportFormat format) {
    return own.contains(format) ? own.at(format)() : render(document, format, options_of(format, options, outputs));
  };
  std::vector<OutputFile> files = files_of(outputs, text);
  append(record_outputs(outputs,
                        [&] {
                          std::vector<CsvRecord> rows;
                          add_rows(document, rows);
                          return rows;
                        }),
         files);
  append(more, files);
  drop_unread(outputs.readers, files);
  const auto show_where_read = [&] {
    if (outputs.readers == Readers::some) show(text(ReportFormat::terminal), options.terminal);
  };
  deliver(show_where_read, files);
}

void deliver(std::span<const ReportSource> found, const OutputOptions& outputs, const RenderOptions& options,
             const OwnTexts& own, const std::vector<OutputFile>& more) {
  std::vector<ReportSource> sources(found.begin(), found.end());
  for (ReportSource& source : sources) source.document = sealed(std::move(source.document));
  const auto text = [&](ReportFormat format) {
    return own.contains(format) ? own.at(format)() : render(sources, format, options_of(format, options, outputs));
  };
  const auto show_where_nothing_else = [&] {
    if (outputs.readers == Readers::none) return;
    if (outputs.empty() || own.contains(ReportFormat::terminal)) show(text(ReportFormat::terminal), options.terminal);
  };
  std::vector<OutputFile> files = files_of(outputs, text);
  append(record_outputs(outputs,
                        [&] {
                          std::vector<CsvRecord> rows;
                          for (const ReportSource& source : sources) add_rows(source.document, rows);
                          return rows;
                        }),
         files);
  append(more, files);
  drop_unread(outputs.readers, files);
  deliver(show_where_nothing_else, files);
}

int answered_code(const Document& document) {
  if (!answers_nothing(document)) return 0;
  complain("nothing was answered: every cell is unsupported here");
  return static_cast<int>(ExitCode::lacking);
}

}  // namespace assay
