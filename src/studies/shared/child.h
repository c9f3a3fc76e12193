#pragma once

#include <filesystem>
#include <string>

#include "base/handle.h"
#include "hub/command.h"

namespace assay {

/// A folder for what commands write; gone with the handle.
void remove_folder(const std::filesystem::path* folder);
using ScratchFolder = Handle<const std::filesystem::path*, remove_folder>;
/// Below the folder for temporary files. Throws Error(lacking) where it cannot be made.
ScratchFolder make_folder(const std::string& name);

/// Runs it with interrupts held: one ends the child first, then comes again when our own handling is back.
CommandResult run_held(const Command& command);

/// The last line of what a command printed.
std::string last_line(std::string text);

}  // namespace assay
