#include "base/json.h"
#include "base/streams.h"
#include "cli/cli.h"
#include "cli/deliver.h"
#include "cli/output_options.h"
#include "published/rule_document.h"

namespace assay {

void add_findings(CLI::App& program, Action& action) {
  struct Options {
    bool list = false;
    std::filesystem::path json;
  };
  const auto options = std::make_shared<Options>();
  CLI::App& command =
      *program.add_subcommand("findings", "List every rule: what it sees, its evidence, what to do about it");
  command.footer("example: assay findings --list");
  command.add_flag("--list", options->list, "list the rules (as without it)");
  add_json_flag(command, options->json);
  command.callback([options, &action] {
    action = [options] {
      deliver([] { print(rules_text()); }, {{options->json, [] { return rules_json().dump(2) + "\n"; }}});
      return 0;
    };
  });
}

}  // namespace assay
