#pragma once

#include <string>
#include <vector>

#include "cli/cli.h"

namespace assay {

// Faults of a command line that the parser lets pass. All throw user errors that name the option.

/// `--store=`, of which the parser would take the next word for the value.
void check_has_values(const std::vector<std::string>& words);

/// `--batch 1,,8` and `--precision fp32,`, whose empty elements the parser drops; of the words that it gets, behind the
/// name of `command`.
void check_lists(const CLI::App& command, const std::vector<std::string>& words);

/// Of what was parsed: an empty value, an option in the place of a value, and whole numbers that are not the ones that
/// were written.
void check_values(const CLI::App& command);

}  // namespace assay
