#include "cli/completion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

#include "base/streams.h"
#include "cli/commands.h"

namespace assay {
namespace {

enum class Shell : std::uint8_t { bash, fish, zsh };

std::string completion_for(Shell shell) {
  const std::vector<ListedCommand> commands = listed_commands();
  switch (shell) {
    case Shell::bash:
      return bash_completion(commands);
    case Shell::fish:
      return fish_completion(commands);
    case Shell::zsh:
      return zsh_completion(commands);
  }
  return {};
}

}  // namespace

std::string command_words(std::span<const ListedCommand> commands) {
  std::vector<std::string> names;
  for (const ListedCommand& command : commands.subspan(1)) names.push_back(command.name);
  return fmt::format("{}", fmt::join(names, " "));
}

std::string with_each(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

std::string quoted(const std::string& text, const std::string& quote) {
  return "'" + with_each(text, "'", quote) + "'";
}

void add_completion(CLI::App& program, Action& action) {
  const auto shell = std::make_shared<Shell>();
  CLI::App& command = *program.add_subcommand("completion", "Print the script by which a shell completes our commands");
  command.footer(
      "examples: source <(assay completion bash)\n"
      "          assay completion fish >~/.config/fish/completions/assay.fish\n"
      "          assay completion zsh >~/.zfunc/_assay");
  static const std::map<std::string, Shell> shells = {
      {"bash", Shell::bash}, {"fish", Shell::fish}, {"zsh", Shell::zsh}};
  add_choice(command, "shell", *shell, shells, "whose script")->required();
  command.callback([shell, &action] {
    action = [shell] {
      print(completion_for(*shell));
      return 0;
    };
  });
}

}  // namespace assay
