#pragma once

#include <atomic>

namespace assay {

/// From now on the first Ctrl-C, or SIGTERM, sets the flag, so that work ends in good order; the second ends the
/// program as usual.
const std::atomic<bool>& watch_interrupts();

}  // namespace assay
