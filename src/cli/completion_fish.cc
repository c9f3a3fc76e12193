#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

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

# Whether N words stand before the cursor, the program's own among them.
function __assay_is_behind
    test (count (commandline -opc)) -eq $argv[1]
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
std::string fish_values(const ListedOption& option) {
  switch (option.takes) {
    case Takes::nothing:
      return {};
    case Takes::anything:
      return " -r";
    case Takes::models:
      return " -r -a '(__assay_models)'";
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

/// When that is offered. Where words without an option have several places, the first ones are right behind the
/// command.
std::string fish_condition(const ListedCommand& command, const ListedOption& option) {
  const std::vector<const ListedOption*> places = command.words();
  const auto place = std::find(places.begin(), places.end(), &option);
  const bool is_early = place != places.end() && place + 1 != places.end();
  const std::string where =
      is_early ? fmt::format("; and __assay_is_behind {}", place - places.begin() + 2) : std::string();
  return fmt::format("'__assay_is_command {}{}'", command.name, where);
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
      if (option.is_word() && option.takes == Takes::anything) continue;  // Files are what fish offers by itself.
      text += fmt::format("complete -c assay -n {}{}{} -d {}\n", fish_condition(command, option), fish_names(option),
                          fish_values(option), in_fish(option.about));
    }
  }
  return text;
}

}  // namespace assay
