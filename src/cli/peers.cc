#include <memory>

#include "base/error.h"
#include "base/streams.h"
#include "base/units.h"
#include "cli/cli.h"
#include "cli/deliver.h"
#include "cli/measuring.h"
#include "cli/outputs.h"

#include "studies/peers/document.h"
#include "studies/peers/environment.h"

namespace assay {
namespace {

struct PeersCommand {
  std::vector<std::string> install;
  std::optional<std::string> remove;
  OutputOptions outputs;
};

void install_named(const std::vector<std::string>& names) {
  Measuring measuring(StoreOptions{.file = "none"});
  for (const std::string& name : names) environment_of(find_peer(name));
  for (const std::string& name : names) install_environment(environment_of(find_peer(name)), {}, measuring.callbacks());
  measuring.finish();
}

int run_peers(const PeersCommand& options) {
  if (!options.install.empty() && options.remove) fail_user("--install with --remove: one at a time");
  if (options.remove) {
    const RemovedEnvironments removed = remove_environments(*options.remove, {});
    for (const std::string& name : removed.names) print("removed " + name + "\n");
    print(removed.names.empty() ? "nothing was there\n"
                                : format_bytes(static_cast<double>(removed.bytes)) + " freed\n");
    return 0;
  }
  install_named(options.install);
  deliver(peers_document({}), options.outputs);
  return 0;
}

}  // namespace

void add_peers(CLI::App& program, Action& action) {
  const auto options = std::make_shared<PeersCommand>();
  CLI::App& command = *program.add_subcommand(
      "peers", "The programs that 'bench --peers' times beside this one: what they are asked, what is installed");
  command.footer("examples: assay peers --install openvino\n          assay bench gpt2 --peers pytorch,openvino");
  command.add_option("--install", options->install, "comma-separated: make their Python environments by pip now")
      ->delimiter(',');
  command
      .add_option_function<std::string>(
          "--remove", [options](const std::string& name) { options->remove = name; },
          "remove the environment of that peer, with those that stand on it; without a name all of them")
      ->expected(0, 1);
  add_output_options(command, options->outputs);
  command.callback([options, &action] { action = [options] { return run_peers(*options); }; });
}

}  // namespace assay
