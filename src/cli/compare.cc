#include "studies/compare/run.h"

#include <fmt/format.h>

#include <map>
#include <memory>
#include <optional>

#include "base/error.h"
#include "cli/cli.h"
#include "cli/outputs.h"
#include "cli/run_recorder.h"
#include "cli/share_option.h"

namespace assay {
namespace {

struct CompareCommand {
  std::vector<std::string> sides;
  std::vector<std::string> commands;
  std::int64_t rounds = 10;
  bool until_sure = false;
  double budget_s = 120;
  std::optional<std::uint64_t> seed;
  CompareOptions compare;
  StoreOptions store;
  OutputOptions outputs;
};

/// "90", "90s", "2m" or "1h" in seconds.
double seconds_of(const std::string& text, const char* option) {
  static const std::map<char, double> units = {{'s', 1}, {'m', 60}, {'h', 3600}};
  const auto unit = text.empty() ? units.end() : units.find(text.back());
  const std::string number = unit == units.end() ? text : text.substr(0, text.size() - 1);
  double value = 0;
  if (!CLI::detail::lexical_cast(number, value) || !(value > 0 && value < 1e9)) {
    fail_user("{} {}: not a time such as 90s, 2m or 1h", option, text);
  }
  return unit == units.end() ? value : value * unit->second;
}

InterleaveRequest interleaved(const CompareCommand& options) {
  InterleaveRequest request{
      .a = options.commands[0], .b = options.commands[1], .rounds = options.rounds, .order_seed = options.seed};
  if (options.until_sure) request.budget_s = options.budget_s;
  return request;
}

ComparisonReport compare(const CompareCommand& options) {
  if (options.commands.empty() == options.sides.empty()) {
    fail_user("compare: two runs or files are needed, or --interleave with two commands");
  }
  if (!options.commands.empty()) {
    return compare_commands(interleaved(options), options.compare);
  }
  if (options.sides.size() != 2) fail_user("compare: two runs or files are needed");
  const std::filesystem::path store = store_file(options.store);
  return compare_sides(read_side(options.sides[0], store), read_side(options.sides[1], store), options.compare);
}

int run_compare(const CompareCommand& given) {
  CompareCommand options = given;
  options.compare.seed = given.seed.value_or(given.compare.seed);
  const ComparisonReport report = compare(options);
  deliver(to_document(report, options.compare), options.outputs);
  return report.fails() ? static_cast<int>(DoneCode::slower) : 0;
}

void add_interleaving(CLI::App& command, const std::shared_ptr<CompareCommand>& options) {
  CLI::Option* interleave =
      command
          .add_option("--interleave", options->commands, "two commands, run by turns, in an order tossed each round")
          ->expected(2);
  CLI::Option* rounds = command.add_option("--rounds", options->rounds, "of --interleave (default 10)")
                            ->check(CLI::Range(std::int64_t{1}, std::int64_t{1000000}))
                            ->needs(interleave);
  CLI::Option* until_sure = command
                                .add_flag("--until-sure", options->until_sure,
                                          "as many rounds as a verdict takes; its error rate holds over all looks")
                                ->needs(interleave)
                                ->excludes(rounds);
  command
      .add_option_function<std::string>(
          "--budget", [options](const std::string& text) { options->budget_s = seconds_of(text, "--budget"); },
          "of --until-sure: the longest it may take, such as 90s or 10m (default 2m)")
      ->needs(until_sure);
}

}  // namespace

void add_compare(CLI::App& program, Action& action) {
  const auto options = std::make_shared<CompareCommand>();
  CLI::App& command = *program.add_subcommand("compare", "Say which of two runs, files or commands is faster");
  command.footer(
      "examples: assay compare 12 15 --fail-if-slower 3%\n"
      "          assay compare old.json new.json\n"
      "          assay compare --interleave './old bench gpt2 --store none' './new bench gpt2 --store none'\n"
      "          assay compare --interleave './old' './new' --until-sure --budget 10m --fail-if-slower 3%");
  command.add_option("sides", options->sides, "numbers of runs (assay history) or --json files, A then B")
      ->expected(0, 2);
  add_interleaving(command, options);
  command.add_option_function<std::string>(
      "--margin", [options](const std::string& text) { options->compare.margin = tolerance_of(text, "--margin"); },
      "differences that count as none (default 3%; less where --fail-if-slower is)");
  command.add_option_function<std::string>(
      "--fail-if-slower",
      [options](const std::string& text) { options->compare.allowed = tolerance_of(text, "--fail-if-slower"); },
      "exit with 9 where B is slower by more than that, beyond doubt");
  command.add_option("--seed", options->seed,
                     "of the bootstrap (default 1), or of the order in which --interleave runs (default: drawn anew)");
  add_read_store_option(command, options->store);
  add_output_options(command, options->outputs, JsonOption::flag);
  command.callback([options, &action] { action = [options] { return run_compare(*options); }; });
}

}  // namespace assay
