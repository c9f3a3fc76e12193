#pragma once

#include <string>
#include <vector>

#include "cli/cli.h"

namespace assay {

/// --peers and --peer-seconds: other programs that do the same beside this one.
void add_peer_list(CLI::App& command, std::vector<std::string>& peers, double& seconds);

}  // namespace assay
