#pragma once

#include <filesystem>
#include <string>

#include "cli/cli.h"

namespace assay {

/// An option that names a file to write.
CLI::Option* add_output_file(CLI::App& command, const std::string& name, std::filesystem::path& file,
                             const std::string& help);
/// `--json`: standard output is JSON and nothing else; `--json=F`: F is. Never takes the next word.
CLI::Option* add_json_flag(CLI::App& command, std::filesystem::path& file);
/// The same option of another kind, as what names a file to write.
void mark_output_file(CLI::Option& option);

/// Of the parsed options of `command`, whether every file that they write can be written and is nobody's else: throws a
/// user error for one that is also read (a model, a file of its folder, data, a store), that is asked for twice, or
/// that could not be written.
void check_outputs(const CLI::App& command);

}  // namespace assay
