#include "base/json.h"
#include "base/streams.h"
#include "cli/cli.h"
#include "published/rule_document.h"

namespace assay {

void add_findings(CLI::App& program, Action& action) {
  struct Options {
    bool list = false;
    bool json = false;
  };
  const auto options = std::make_shared<Options>();
  CLI::App& command =
      *program.add_subcommand("findings", "List every rule: what it sees, its evidence, what to do about it");
  command.footer("example: assay findings --list");
  command.add_flag("--list", options->list, "list the rules (as without it)");
  command.add_flag("--json", options->json, "as JSON");
  command.callback([options, &action] {
    action = [options] {
      print(options->json ? rules_json().dump(2) + "\n" : rules_text());
      return 0;
    };
  });
}

}  // namespace assay
