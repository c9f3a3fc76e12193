#pragma once

#include <csignal>

namespace assay {

/// The signals whose action this program changes for itself; the programs that it starts begin with the default again.
inline constexpr int changed_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGXFSZ};

}  // namespace assay
