#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>

#include "cli/cli.h"
#include "cli/deliver.h"
#include "report/record_formats.h"
#include "report/render.h"

namespace assay {

/// Whether anybody reads standard output. A launcher of ranks no longer does once it has lost one, and who writes there
/// would hang.
enum class Readers : std::uint8_t { some, none };

/// What a result is written as besides what standard output shows; empty: not. "-": to standard output, and then
/// nothing else is.
struct OutputOptions {
  std::filesystem::path json;
  std::filesystem::path csv;
  std::filesystem::path markdown;
  std::filesystem::path latex;
  std::filesystem::path html;
  std::vector<std::filesystem::path> record_files;  ///< In the order of record_formats(); none: not asked for.
  Detail shown = Detail::brief;                     ///< By the terminal; files have everything.
  Readers readers = Readers::some;

  /// Whether one of them goes to standard output, which then holds nothing else.
  bool takes_stdout() const;
  bool empty() const;
};

enum class JsonOption : std::uint8_t {
  file,   ///< --json FILE
  flag,   ///< --json prints it, --json=FILE writes it: never takes the next word.
  either  ///< --json prints it, --json FILE and --json=FILE write it.
};
/// `--json`, `--csv`, `--markdown`, `--latex`, `--html`, `--details`: the same for every command that has a result.
void add_output_options(CLI::App& command, OutputOptions& outputs, JsonOption json = JsonOption::file);

/// An option for each of record_formats(), of a command whose document has records. `deliver` writes them.
void add_record_outputs(CLI::App& command, OutputOptions& outputs);
/// Those of them that were asked for, of rows that are made when they are written.
std::vector<OutputFile> record_outputs(const OutputOptions& outputs,
                                       const std::function<std::vector<CsvRecord>()>& rows);

/// Formats in which a command writes something else than the document, as what another store takes over.
using OwnTexts = std::map<ReportFormat, std::function<std::string()>>;

/// Shows the document and writes it as was asked: first standard output, then each file, `more` last, each whatever
/// becomes of the others.
void deliver(const Document& document, const OutputOptions& outputs, const OwnTexts& own = {},
             const std::vector<OutputFile>& more = {});
/// The same for several side by side. Where a file is asked for, standard output shows no more than a text of the
/// caller's own.
void deliver(std::span<const ReportSource> sources, const OutputOptions& outputs, const RenderOptions& options,
             const OwnTexts& own = {}, const std::vector<OutputFile>& more = {});

/// The exit code of a grid's document: 3, with a line that says so, where this machine can run none of its cells.
int answered_code(const Document& document);

}  // namespace assay
