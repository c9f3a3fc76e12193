#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/completion.h"

namespace assay {
namespace {

constexpr const char* fish_start = R"(# fish completion of assay: assay completion fish | source

function __assay_is_first
    test (count (commandline -opc)) -eq 1
end

function __assay_is_command
    set -l words (commandline -opc)
    test (count $words) -gt 1; and test $words[2] = $argv[1]
end

function __assay_models
    set -l words (commandline -opc)
    $words[1] models --names 2>/dev/null
end

# What goes on with a list that has commas.
function __assay_list
    set -l before (commandline -ct | string replace -r '^--[^=]*=' '' | string match -r '^.*,')
    printf '%s\n' "$before"$argv
end

)";

std::string in_fish(const std::string& text) {
  return quoted(with_each(text, "\\", "\\\\"), "\\'");
}

/// The arguments of `complete` for what an option takes, or a word.
std::string fish_values(const ListedOption& option, std::span<const ListedCommand> commands) {
  switch (option.takes) {
    case Takes::nothing:
      return {};
    case Takes::anything:
      return " -r";
    case Takes::models:
      return " -r -a '(__assay_models)'";
    case Takes::commands:
      return fmt::format(" -x -a '{}'", command_words(commands));
    case Takes::precisions:
      return fmt::format(" -x -a '(__assay_list {})'", precision_words());
    case Takes::choice:
      return option.several == Several::by_comma
                 ? fmt::format(" -x -a '(__assay_list {})'", fmt::join(option.choices, " "))
                 : fmt::format(" -x -a '{}'", fmt::join(option.choices, " "));
  }
  return {};
}

/// A letter alone, or a name; fish's own letters for them.
std::string fish_names(const ListedOption& option) {
  std::string names;
  if (option.is_word()) return names;
  for (const std::string& name : option.names)
    names += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  return names;
}

}  // namespace

std::string fish_completion(std::span<const ListedCommand> commands) {
  std::string text = fish_start;
  for (const ListedOption& option : commands.front().options)
    text += fmt::format("complete -c assay -n __assay_is_first{} -d {}\n", fish_names(option), in_fish(option.about));
  for (const ListedCommand& command : commands.subspan(1)) {
    text +=
        fmt::format("\ncomplete -c assay -n __assay_is_first -x -a {} -d {}\n", command.name, in_fish(command.about));
    for (const ListedOption& option : command.options) {
      text += fmt::format("complete -c assay -n '__assay_is_command {}'{}{} -d {}\n", command.name, fish_names(option),
                          fish_values(option, commands), in_fish(option.about));
    }
  }
  return text;
}

}  // namespace assay
