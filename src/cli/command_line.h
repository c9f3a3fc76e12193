#pragma once

#include <string>
#include <vector>

#include "cli/cli.h"

namespace assay {

// What stands between a command line and the parser, which would take some words for others.

/// The words behind the program's own name as the parser is to get them: under our own names (other_names.h), and those
/// in brackets marked, which it would take for a list of several ("sh -c '[ 1 = 1 ]'"). Throws a user error that names
/// the fault, for
/// - an unknown command
/// - `--store=` and `--store --seq=8`, where the next word would be the value
/// - `--batch 1,,8` and `--precision fp32,`, whose empty elements would be dropped
std::vector<std::string> words_to_parse(const CLI::App& program, const std::vector<std::string>& words);

/// Lets every option of every command have its words without those marks.
void take_words_whole(CLI::App& program);
/// The same of a text, such as the parser's error.
std::string without_marks(std::string text);

/// What an option was given, after parsing.
std::vector<std::string> words_of(const CLI::Option& option);

/// Of what was parsed: throws a user error for an empty value, and for whole numbers that the parser would change.
void check_values(const CLI::App& command);

}  // namespace assay
