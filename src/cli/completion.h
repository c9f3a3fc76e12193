#pragma once

#include <span>
#include <string>

#include "cli/listing.h"

namespace assay {

// A shell's script that completes what is typed behind `assay`: commands, options, and values where they are choices
// (precisions and peers among them) or names of models (which the program is asked for at that moment: the cache
// changes). Where nothing is known of a value, the shell offers files. `commands` is what listed_commands gives.

std::string bash_completion(std::span<const ListedCommand> commands);
std::string fish_completion(std::span<const ListedCommand> commands);
std::string zsh_completion(std::span<const ListedCommand> commands);

/// The names of all commands but the program itself, with a space between.
std::string command_words(std::span<const ListedCommand> commands);
/// As one word of a shell between single quotes; `quote` is how it writes one inside.
std::string quoted(const std::string& text, const std::string& quote);
/// Each of `from` in `text` as `to`.
std::string with_each(std::string text, const std::string& from, const std::string& to);

}  // namespace assay
