#pragma once

#include <string>
#include <vector>

#include "cli/cli.h"

namespace assay {

// Options and precisions as other programs name them.

/// The one that the first word names; null where there is none.
const CLI::App* find_command(const CLI::App& program, const std::vector<std::string>& words);

/// The words behind the program's own name, with options that the subcommand has under another name under that name
/// (`--batch-size 8` as `--batch 8`, `--model gpt2` as `gpt2`). Options that it has itself, what is unknown, and
/// whatever stands behind `--` stay as they are.
std::vector<std::string> with_own_names(const CLI::App& program, std::vector<std::string> words);

/// Whether the words of an option are names of precisions.
bool takes_precisions(const CLI::Option& option);
/// Lets every option that takes precisions understand `float16`, `half`, `w8a8` and the like.
void understand_precisions(CLI::App& program);

/// Why the command has no such option, of one that others have and it does without; empty for all others.
std::string why_no_option(const CLI::App& command, const std::vector<std::string>& words);

}  // namespace assay
