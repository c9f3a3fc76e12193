#include "cli/outputs.h"

#include <unistd.h>

#include <algorithm>

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

/// Every file that is written says where it comes from. What was read says so already.
Document with_origin(Document document) {
  if (!document.origin) document.origin = run_origin();
  return sealed(std::move(document));
}

}  // namespace

bool OutputOptions::takes_stdout() const {
  const std::filesystem::path* const files[] = {&json, &csv, &markdown, &latex, &html};
  return std::any_of(std::begin(files), std::end(files),
                     [](const auto* file) { return *file == standard_output_path; });
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

void deliver(const Document& found, const OutputOptions& outputs, const OwnTexts& own,
             const std::vector<OutputFile>& more) {
  const Document document = with_origin(found);
  RenderOptions options;
  options.terminal.colour = colour_for(STDOUT_FILENO);
  const auto text = [&](ReportFormat format) {
    return own.contains(format) ? own.at(format)() : render(document, format, options_of(format, options, outputs));
  };
  std::vector<OutputFile> files = files_of(outputs, text);
  files.insert(files.end(), more.begin(), more.end());
  deliver([&] { show(text(ReportFormat::terminal), options.terminal); }, files);
}

void deliver(std::span<const ReportSource> found, const OutputOptions& outputs, const RenderOptions& options,
             const OwnTexts& own) {
  std::vector<ReportSource> sources(found.begin(), found.end());
  for (ReportSource& source : sources) source.document = sealed(std::move(source.document));
  const auto text = [&](ReportFormat format) {
    return own.contains(format) ? own.at(format)() : render(sources, format, options_of(format, options, outputs));
  };
  const auto show_where_nothing_else = [&] {
    if (outputs.empty() || own.contains(ReportFormat::terminal)) show(text(ReportFormat::terminal), options.terminal);
  };
  deliver(show_where_nothing_else, files_of(outputs, text));
}

int answered_code(const Document& document) {
  if (!answers_nothing(document)) return 0;
  complain("nothing was answered: every cell is unsupported here");
  return static_cast<int>(ExitCode::lacking);
}

}  // namespace assay
