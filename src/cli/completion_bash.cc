#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/completion.h"

namespace assay {
namespace {

constexpr const char* bash_start = R"(# bash completion of assay: source <(assay completion bash)

_assay_models() { "${COMP_WORDS[0]}" models --names 2>/dev/null; }

# CURRENT WORDS: those that go on with it; behind a comma, with what stands before that.
_assay_offer() {
  local before=
  if [[ $1 == *,* ]]; then before=${1%,*},; fi
  mapfile -t COMPREPLY < <(compgen -P "$before" -W "$2" -- "${1##*,}")
}

_assay() {
  local current=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]}
  local is_value= options= words=
)";

constexpr const char* bash_middle = R"(  if [[ $current == = ]]; then
    is_value=1 current=
  elif [[ $option == = ]]; then
    is_value=1 option=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  case "$command $option" in
)";

constexpr const char* bash_end = R"(  esac
  if [[ $is_value ]]; then return; fi
  if [[ $current == -* ]]; then words=$options; fi
  _assay_offer "$current" "$words"
}

complete -o bashdefault -o default -F _assay assay
)";

/// What is between the double quotes of an argument of _assay_offer; empty where files are to be offered.
std::string bash_words(const ListedOption& option) {
  switch (option.takes) {
    case Takes::choice:
      return fmt::format("{}", fmt::join(option.choices, " "));
    case Takes::models:
      return "$(_assay_models)";
    case Takes::anything:
    case Takes::nothing:
      return {};
  }
  return {};
}

/// The lines of `case` for an option that takes a value: a file is what the shell offers where nothing is.
std::string bash_values(const ListedCommand& command, const ListedOption& option) {
  std::vector<std::string> patterns;
  for (const std::string& name : option.names) patterns.push_back(fmt::format("'{} {}'", command.name, name));
  const std::string words = bash_words(option);
  const std::string offer = words.empty() ? "" : fmt::format(" _assay_offer \"$current\" \"{}\";", words);
  return fmt::format("    {}){} return ;;\n", fmt::join(patterns, " | "), offer);
}

/// Sets `words` to what may stand in the place of words without an option. Where there are several such places, the
/// first ones are looked for right behind the command.
std::string bash_places(const ListedCommand& command) {
  const std::vector<const ListedOption*> places = command.words();
  std::string text;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const std::string words = bash_words(*places[i]);
    if (words.empty()) continue;
    const bool is_last = i + 1 == places.size();
    const std::string where =
        places.size() == 1 ? "" : fmt::format("((COMP_CWORD {} {})) && ", is_last ? ">=" : "==", i + 2);
    text += fmt::format(" {}words=\"{}\";", where, words);
  }
  return text;
}

/// Its options, and what stands in the place of its words.
std::string bash_command(const ListedCommand& command) {
  std::vector<std::string> names;
  for (const ListedOption& option : command.options) {
    if (!option.is_word()) names.insert(names.end(), option.names.begin(), option.names.end());
  }
  return fmt::format("    {}) options='{}';{} ;;\n", command.name, fmt::join(names, " "), bash_places(command));
}

}  // namespace

std::string bash_completion(std::span<const ListedCommand> commands) {
  std::string text = bash_start;
  text += fmt::format("  if ((COMP_CWORD == 1)); then _assay_offer \"$current\" '{} --help --version'; return; fi\n",
                      command_words(commands));
  text += bash_middle;
  for (const ListedCommand& command : commands) {
    for (const ListedOption& option : command.options) {
      if (!option.is_word() && option.takes != Takes::nothing) text += bash_values(command, option);
    }
  }
  text += "  esac\n  case $command in\n";
  for (const ListedCommand& command : commands.subspan(1)) text += bash_command(command);
  return text + bash_end;
}

}  // namespace assay
