#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/completion.h"

namespace assay {
namespace {

constexpr const char* zsh_start = R"zsh(#compdef assay
# zsh completion of assay, a file _assay in a folder of $fpath: assay completion zsh >~/.zfunc/_assay

_assay_models() {
  local -a names
  names=(${(f)"$($_assay_program models --names 2>/dev/null)"})
  compadd -a names
  _files
}

)zsh";

constexpr const char* zsh_end = R"zsh(  esac
}

if [[ $funcstack[1] == _assay ]]; then _assay "$@"; else compdef _assay assay; fi
)zsh";

/// Inside a specification of _arguments, where ':' and brackets mean something.
std::string in_specification(std::string text) {
  for (const char* sign : {"\\", ":", "[", "]"}) text = with_each(text, sign, std::string("\\") + sign);
  return text;
}

/// The action of _arguments: what it offers.
std::string zsh_values(const ListedOption& option) {
  switch (option.takes) {
    case Takes::nothing:
    case Takes::anything:
      return "_files";
    case Takes::models:
      return "_assay_models";
    case Takes::choice:
      return option.several == Several::by_comma ? fmt::format("_sequence compadd - {}", fmt::join(option.choices, " "))
                                                 : fmt::format("({})", fmt::join(option.choices, " "));
  }
  return {};
}

std::string zsh_specification(const ListedOption& option, const std::string& name) {
  const std::string about = in_specification(option.about);
  const std::string values = zsh_values(option);
  // A command has one word at most that may be several, the last one.
  if (option.is_word()) return fmt::format("{}:{}:{}", option.several == Several::by_word ? "*" : "", name, values);
  if (option.is_flag_with_value()) return fmt::format("{}=-[{}]::file:_files", name, about);
  if (option.takes == Takes::nothing) return fmt::format("{}[{}]", name, about);
  return fmt::format("*{}=[{}]:value:{}", name, about, values);
}

/// One specification a name.
std::string zsh_option(const ListedOption& option) {
  std::string text;
  for (const std::string& name : option.names)
    text += " \\\n        " + quoted(zsh_specification(option, name), "'\\''");
  return text;
}

}  // namespace

std::string zsh_completion(std::span<const ListedCommand> commands) {
  std::string text = zsh_start;
  text += "_assay() {\n  local _assay_program=$words[1]\n  local -a subcommands\n  subcommands=(\n";
  for (const ListedCommand& command : commands.subspan(1))
    text += fmt::format("    {}\n", quoted(command.name + ":" + in_specification(command.about), "'\\''"));
  text += "  )\n  if ((CURRENT == 2)); then\n    _describe command subcommands\n    _arguments";
  for (const ListedOption& option : commands.front().options) text += zsh_option(option);
  text += "\n    return\n  fi\n  shift words\n  ((CURRENT--))\n  case $words[1] in\n";
  for (const ListedCommand& command : commands.subspan(1)) {
    text += fmt::format("    {})\n      _arguments", command.name);
    for (const ListedOption& option : command.options) text += zsh_option(option);
    text += " ;;\n";
  }
  return text + zsh_end;
}

}  // namespace assay
