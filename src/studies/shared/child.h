#pragma once

#include <filesystem>
#include <string>

#include "base/handle.h"
#include "hardware/facts.h"
#include "hub/command.h"
#include "model/model.h"
#include "studies/shared/engine.h"

namespace assay {

/// A folder for what commands write; gone with the handle.
void remove_folder(const std::filesystem::path* folder);
using ScratchFolder = Handle<const std::filesystem::path*, remove_folder>;
/// Below the folder for temporary files. Throws Error(lacking) where it cannot be made.
ScratchFolder make_folder(const std::string& name);

/// Runs it with interrupts held: one ends the child first, then comes again when our own handling is back.
CommandResult run_held(const Command& command);

/// The options with which a command of ours chooses the same kernels as this process: its facts, written into `folder`,
/// its threads and its instruction set.
std::vector<std::string> machine_words(const MachineFacts& facts, const std::filesystem::path& folder);
/// The options of the same engine and the same weights.
std::vector<std::string> engine_words(const EngineOptions& engine, const ModelOptions& model);

/// The name under which a model was opened with these options, which engine_words() has: its own says other sizes
/// besides.
std::string asked_name(const Model& model, const ModelOptions& options);

/// Those that define its recipes, whose files are written into `folder`.
std::vector<std::string> recipe_words(const EngineOptions& engine, const std::filesystem::path& folder);

/// The last line of what a command printed.
std::string last_line(std::string text);

}  // namespace assay
