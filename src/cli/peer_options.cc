#include "cli/peer_options.h"

namespace assay {

void add_peer_list(CLI::App& command, std::vector<std::string>& peers, double& seconds) {
  command
      .add_option(
          "--peers", peers,
          "comma-separated: other programs that run the same model in the same rounds ('assay peers' lists them)")
      ->delimiter(',');
  command.add_option("--peer-seconds", seconds, "what a peer may take to be ready, or for one answer (default 600)")
      ->check(between(0.01, 1e6));
}

}  // namespace assay
