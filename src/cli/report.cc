#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "cli/cli.h"
#include "cli/keeping.h"
#include "cli/measuring.h"
#include "cli/report_files.h"
#include "report/methods.h"
#include "report/terminal.h"

namespace assay {
namespace {

enum class Print : std::uint8_t { tables, methods };

struct ReportCommand {
  std::vector<std::string> inputs;
  ReportFiles files;
  StoreOptions store;
  std::string title;
  Print print = Print::tables;
};

/// A run of the store, judged by the rules of this version.
ReportSource read_run(const std::string& number, const StoreOptions& options) {
  const Store store(store_file(options), Access::read);
  const std::optional<StoredRun> run = store.run(std::stoll(number));
  if (!run) fail_user("{}: no run {}: assay history lists what there is", store.file().string(), number);
  ReportSource source{"run " + number, {}};
  source.document.machine = OrderedJson(parse_json(run->machine, source.label));
  Filter filter;
  filter.run = run->id;
  for (StoredRecord& stored : store.find(filter)) source.document.records.push_back(std::move(stored.record));
  source.document.findings = judge(source.document.records);
  return source;
}

ReportSource read_source(const std::string& input, const StoreOptions& options) {
  if (is_run_number(input) && !std::filesystem::exists(input)) return read_run(input, options);
  return {std::filesystem::path(input).filename().string(),
          document_from_json(parse_json(read_file(input), input), input)};
}

int run(const ReportCommand& options) {
  check_files(options.files);
  std::vector<ReportSource> sources;
  for (const std::string& input : options.inputs) sources.push_back(read_source(input, options.store));
  const std::string title = options.title.empty() ? report_title(sources) : options.title;
  write_files(options.files, sources, {}, title);
  if (options.print == Print::methods) {
    print(methods_text(sources));
  } else if (options.files.empty()) {
    for (const ReportSource& source : sources) print(terminal_report(source.document, {}));
  }
  return 0;
}

}  // namespace

void add_report(CLI::App& program, Action& action) {
  const auto options = std::make_shared<ReportCommand>();
  CLI::App& command = *program.add_subcommand(
      "report", "Show what was measured: one HTML page, LaTeX, Markdown, CSV, or the methods section of a paper");
  command.footer(
      "examples:\n  assay bench gpt2 --precision fp32,bf16 --json run.json && assay report run.json --html run.html\n"
      "  assay report laptop.json server.json --html both.html   (side by side)\n"
      "  assay report run.json --methods");
  command
      .add_option("inputs", options->inputs,
                  "runs of the store by number, or files that --json wrote; several are compared side by side")
      ->required();
  add_report_options(command, options->files);
  add_read_store_option(command, options->store);
  command.add_option("--title", options->title, "heading of the page (default: the models)");
  command.add_flag_callback(
      "--methods", [options] { options->print = Print::methods; },
      "print the paragraphs of methods and disclosure, made from the records");
  command.callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace assay
