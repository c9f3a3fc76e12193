#pragma once

#include <string>

#include "results/document.h"

namespace assay {

/// The command line as a shell takes it, without secrets.
std::string command_line();

/// Of this start of the program.
RunOrigin run_origin();

}  // namespace assay
