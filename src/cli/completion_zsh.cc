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
std::string zsh_values(const ListedOption& option, std::span<const ListedCommand> commands) {
  switch (option.takes) {
    case Takes::nothing:
    case Takes::anything:
      return "_files";
    case Takes::models:
      return "_assay_models";
    case Takes::commands:
      return fmt::format("({})", command_words(commands));
    case Takes::precisions:
      return fmt::format("_sequence compadd - {}", precision_words());
    case Takes::choice:
      return option.several == Several::by_comma ? fmt::format("_sequence compadd - {}", fmt::join(option.choices, " "))
                                                 : fmt::format("({})", fmt::join(option.choices, " "));
  }
  return {};
}

/// One specification a name.
std::string zsh_option(const ListedOption& option, std::span<const ListedCommand> commands) {
  const std::string about = in_specification(option.about);
  const std::string values = zsh_values(option, commands);
  std::string text;
  for (const std::string& name : option.names) {
    std::string line;
    if (option.is_word())
      line = fmt::format("*:{}:{}", name, values);
    else if (option.is_flag_with_value())
      line = fmt::format("{}=-[{}]::file:_files", name, about);
    else if (option.takes == Takes::nothing)
      line = fmt::format("{}[{}]", name, about);
    else
      line = fmt::format("*{}=[{}]:value:{}", name, about, values);
    text += " \\\n        " + quoted(line, "'\\''");
  }
  return text;
}

}  // namespace

std::string zsh_completion(std::span<const ListedCommand> commands) {
  std::string text = zsh_start;
  text += "_assay() {\n  local _assay_program=$words[1]\n  local -a subcommands\n  subcommands=(\n";
  for (const ListedCommand& command : commands.subspan(1))
    text += fmt::format("    {}\n", quoted(command.name + ":" + in_specification(command.about), "'\\''"));
  text += "  )\n  if ((CURRENT == 2)); then\n    _describe command subcommands\n    _arguments";
  for (const ListedOption& option : commands.front().options) text += zsh_option(option, commands);
  text += "\n    return\n  fi\n  shift words\n  ((CURRENT--))\n  case $words[1] in\n";
  for (const ListedCommand& command : commands.subspan(1)) {
    text += fmt::format("    {})\n      _arguments", command.name);
    for (const ListedOption& option : command.options) text += zsh_option(option, commands);
    text += " ;;\n";
  }
  return text + zsh_end;
}

}  // namespace assay
