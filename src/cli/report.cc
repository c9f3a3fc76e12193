#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "cli/cli.h"
#include "cli/measuring.h"
#include "cli/report_source.h"
#include "cli/run_recorder.h"
#include "cli/verdict_option.h"
#include "report/methods.h"
#include "rules/verdict.h"

namespace assay {
namespace {

enum class Print : std::uint8_t { tables, methods };

struct ReportCommand {
  std::vector<std::string> inputs;
  OutputOptions outputs;
  StoreOptions store;
  std::string title;
  std::vector<std::string> verdict;
  Print print = Print::tables;
};

/// Of one source it stands in its document; of several, which may be of several devices, in one before them.
/// Throws a user error where no record is of the rows.
void judge_rows(const std::vector<std::string>& asked, std::vector<ReportSource>& sources) {
  const std::vector<std::string> rows = verdict_rows(asked);
  const bool is_known = std::any_of(sources.begin(), sources.end(), [&](const ReportSource& source) {
    return has_row_of(source.document.records, rows);
  });
  if (!is_known) fail_user("--verdict {}: no record is of them", fmt::join(rows, ","));
  if (sources.size() == 1) return tell_verdict(rows, sources.front().document);
  sources.insert(sources.begin(), verdict_source(rows, sources));
}

int run_report(const ReportCommand& options) {
  std::vector<ReportSource> sources;
  for (const std::string& input : options.inputs) sources.push_back(read_source(input, store_file(options.store)));
  if (!options.verdict.empty()) judge_rows(options.verdict, sources);
  RenderOptions how;
  how.title = options.title;
  OwnTexts own;
  if (options.print == Print::methods) own[ReportFormat::terminal] = [&] { return methods_text(sources); };
  deliver(sources, options.outputs, how, own);
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
      "  assay report cpu.json gpu.json --verdict fp16,int8\n"
      "  assay report run.json --methods");
  command
      .add_option(
          "inputs", options->inputs,
          "runs of the store by number, or files that --json or assay export wrote; several are compared side by "
          "side")
      ->required();
  add_verdict_option(command, options->verdict);
  add_output_options(command, options->outputs);
  add_record_outputs(command, options->outputs);
  add_read_store_option(command, options->store);
  command.add_option("--title", options->title, "heading of the page (default: the models)");
  command.add_flag_callback(
      "--methods", [options] { options->print = Print::methods; },
      "print the paragraphs of methods and disclosure, made from the records");
  command.callback([options, &action] { action = [options] { return run_report(*options); }; });
}

}  // namespace assay
