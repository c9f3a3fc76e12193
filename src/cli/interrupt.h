#pragma once

#include <atomic>

namespace assay {

/// From now on the first Ctrl-C, SIGTERM or SIGHUP sets the flag, so that work ends in good order; the second ends the
/// program as usual, however often this is called. A reader of a stream that goes away is an error of writing and no
/// longer ends the program.
const std::atomic<bool>& watch_interrupts();

/// Whether one of them has come since.
bool was_interrupted();

/// Throws Error(interrupted) where one has: for work that tells nothing of what is not whole. `what`: that work.
void end_if_interrupted(const char* what);

}  // namespace assay
