#pragma once

#include <string>
#include <vector>

#include "cli/cli.h"

namespace assay {

/// What may follow an option, or stand in the place of a word without one.
enum class Takes : std::uint8_t {
  nothing,   ///< A flag.
  anything,  ///< A file, a number, a text.
  choice,    ///< One of ListedOption::choices.
  models     ///< A name that `assay models` lists, or a path.
};
enum class Several : std::uint8_t { no, by_comma, by_word };

/// An option of a command as its users see it, or a word without one.
struct ListedOption {
  std::vector<std::string> names;  ///< "--batch", or "-h" and "--help"; of a word what help calls it: "model".
  std::string value;               ///< "FILE", "on|off"; empty of a flag.
  std::string about;
  std::string heading;  ///< Under which it stands in help.
  Takes takes = Takes::nothing;
  Several several = Several::no;
  std::vector<std::string>
      choices;  ///< What help writes between '|'; precisions, peers or commands where those are meant.

  bool is_word() const { return !names.front().starts_with('-'); }
  /// `--json`, `--json=FILE`: takes a value behind '=' alone.
  bool is_flag_with_value() const { return takes == Takes::nothing && !value.empty(); }
};

struct ListedCommand {
  std::string name;
  std::string about;
  std::string aim;       ///< The heading of `assay --help` under which it stands.
  std::string examples;  ///< Command lines, one a line.
  std::vector<ListedOption> options;

  /// Words that stand without an option, in their order.
  std::vector<const ListedOption*> words() const;
};

/// The program itself (its name is "assay"), then every command that help lists, in that order: read off the tree that
/// parses command lines. Both forms of `train` are one command; options of the benchmark have a heading of their own.
std::vector<ListedCommand> listed_commands();

}  // namespace assay
