#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/cli.h"

namespace assay {

// What stands between a command line and the parser, which would take some words for others.

/// The words behind the program's own name as the parser is to get them: under our own names (other_names.h), and with
/// marks where it would take a word in brackets for a list ("sh -c '[ 1 = 1 ]'") or drop an empty element of one
/// ("fp32,"). Throws a user error for an unknown command, and for `--store=` and `--store --seq=8`, where the next word
/// would be the value.
std::vector<std::string> words_to_parse(const CLI::App& program, const std::vector<std::string>& words);

/// Lets every option of every command have its words without marks, and refuse an empty element.
void take_words_whole(CLI::App& program);
/// The same of a text, such as the parser's error.
std::string without_marks(std::string_view text);

/// Of what was parsed: throws a user error for an empty value, and for whole numbers that the parser would change.
void check_values(const CLI::App& command);

}  // namespace assay
