#pragma once

#include <string>
#include <vector>

#include "results/document.h"

namespace assay {

/// The words of the command line, without secrets.
std::vector<std::string> command_words();
/// Words as a shell takes them.
std::string shell_line(const std::vector<std::string>& words);
/// The command line as a shell takes it, without secrets.
std::string command_line();

/// Of this start of the program.
RunOrigin run_origin();

}  // namespace assay
