#include "cli/listing.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <span>
#include <sstream>

#include "cli/commands.h"
#include "cli/other_names.h"
#include "studies/peers/peer_table.h"
#include "tensor/precision.h"

namespace assay {
namespace {

/// What names of options and words say of the value, where the tree does not.
constexpr const char* names_of_models[] = {"model", "models", "name", "--model", "--models", "--baseline"};
constexpr const char* names_of_peers[] = {"--peers", "--install", "--remove"};
constexpr const char* names_of_commands[] = {"page"};

std::string trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(' ');
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

std::vector<std::string> names_of(const CLI::Option& option) {
  if (option.get_positional()) return {option.get_name(true)};
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  return names;
}

bool is_named(const std::vector<std::string>& names, std::span<const char* const> wanted) {
  return std::ranges::any_of(
      wanted, [&](const char* one) { return std::find(names.begin(), names.end(), one) != names.end(); });
}

/// "on|off"; what stands there in capitals, as I/N, is none of them.
std::vector<std::string> choices_in_help(const CLI::Option& option) {
  std::vector<std::string> words;
  std::istringstream text(option.get_option_text());
  for (std::string word; std::getline(text, word, '|');) {
    if (std::none_of(word.begin(), word.end(), [](unsigned char c) { return std::isupper(c) != 0; }))
      words.push_back(word);
  }
  return words;
}

std::vector<std::string> names_of_precisions() {
  std::vector<std::string> names;
  for (const Precision& row : precision_table()) names.emplace_back(row.name);
  return names;
}

std::vector<std::string> names_of_known_peers() {
  std::vector<std::string> names;
  for (const Peer& peer : peers()) names.emplace_back(peer.name);
  return names;
}

/// Of the program that `command` is part of; those that help lists.
std::vector<std::string> names_of_all_commands(const CLI::App& command) {
  std::vector<std::string> names;
  if (command.get_parent() == nullptr) return names;
  for (const CLI::App* one : command.get_parent()->get_subcommands([](const CLI::App*) { return true; })) {
    if (!one->get_group().empty()) names.push_back(one->get_name());
  }
  return names;
}

std::vector<std::string> choices_of(const CLI::App& command, const CLI::Option& option,
                                    const std::vector<std::string>& names) {
  if (takes_precisions(option)) return names_of_precisions();
  if (is_named(names, names_of_peers)) return names_of_known_peers();
  if (is_named(names, names_of_commands)) return names_of_all_commands(command);
  return choices_in_help(option);
}

Takes taken_by(const CLI::Option& option, const ListedOption& listed) {
  if (option.get_expected_max() == 0) return Takes::nothing;
  if (!listed.choices.empty()) return Takes::choice;
  return is_named(listed.names, names_of_models) ? Takes::models : Takes::anything;
}

Several several_of(const CLI::Option& option) {
  if (option.get_delimiter() == ',') return Several::by_comma;
  return option.get_positional() && option.get_expected_max() > 1 ? Several::by_word : Several::no;
}

/// What help writes behind the name, without the other options that it names. CLI11 tells the type of a number in
/// bounds twice.
std::string value_of(const CLI::App& command, const CLI::Option& option) {
  const auto* formatter = dynamic_cast<const CLI::Formatter*>(command.get_formatter().get());
  if (formatter == nullptr) return {};
  const std::string name = formatter->make_option_name(&option, false);
  if (const std::size_t bracket = name.find('['); bracket != std::string::npos) return name.substr(bracket);
  std::string value = formatter->make_option_opts(&option);
  for (const char* other : {" Needs:", " Excludes:"}) value = value.substr(0, value.find(other));
  value = trimmed(value);
  const std::size_t colon = value.find(':');
  const bool is_twice = colon != std::string::npos && value.compare(colon + 1, colon, value, 0, colon) == 0;
  return is_twice ? value.substr(colon + 1) : value;
}

ListedOption listed(const CLI::App& command, const CLI::Option& option) {
  ListedOption result{.names = names_of(option),
                      .value = value_of(command, option),
                      .about = option.get_description(),
                      .heading = option.get_group(),
                      .choices = {}};
  result.choices = choices_of(command, option, result.names);
  result.takes = taken_by(option, result);
  result.several = several_of(option);
  return result;
}

/// A footer begins with "example:" or "examples:", and its lines stand below each other.
std::string examples_of(const CLI::App& command) {
  const std::string footer = command.get_footer();
  const std::size_t colon = footer.find(':');
  if (!footer.starts_with("example") || colon == std::string::npos) return {};
  std::string lines;
  std::istringstream text(footer.substr(colon + 1));
  for (std::string line; std::getline(text, line);) {
    if (!trimmed(line).empty()) lines += trimmed(line) + "\n";
  }
  return lines;
}

ListedCommand listed(const CLI::App& command) {
  ListedCommand result{.name = command.get_name(),
                       .about = command.get_description(),
                       .aim = command.get_group(),
                       .examples = examples_of(command),
                       .options = {}};
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_group().empty()) result.options.push_back(listed(command, *option));
  }
  return result;
}

std::vector<ListedCommand> listed_program(TrainForm form) {
  Action none;
  const std::unique_ptr<CLI::App> program = make_program(none, form);
  std::vector<ListedCommand> commands = {listed(*program)};
  for (const CLI::App* command : program->get_subcommands([](const CLI::App*) { return true; })) {
    if (!command->get_group().empty()) commands.push_back(listed(*command));
  }
  return commands;
}

ListedOption* find_listed(ListedCommand& command, const ListedOption& wanted) {
  const auto found = std::find_if(command.options.begin(), command.options.end(),
                                  [&](const ListedOption& option) { return option.names == wanted.names; });
  return found == command.options.end() ? nullptr : &*found;
}

void take_over(const ListedCommand& benchmark, ListedCommand& command) {
  for (ListedOption option : benchmark.options) {
    if (ListedOption* const own = find_listed(command, option)) {
      if (option.several != Several::no) own->several = option.several;  // One where it trains, a list where it times.
      continue;
    }
    if (option.is_word()) continue;
    option.heading = "With --benchmark";
    command.options.push_back(std::move(option));
  }
  command.about += "; --benchmark: " + benchmark.about;
  command.examples += benchmark.examples;
}

}  // namespace

std::vector<const ListedOption*> ListedCommand::words() const {
  std::vector<const ListedOption*> found;
  for (const ListedOption& option : options) {
    if (option.is_word()) found.push_back(&option);
  }
  return found;
}

std::vector<ListedCommand> listed_commands() {
  std::vector<ListedCommand> commands = listed_program(TrainForm::training);
  const std::vector<ListedCommand> others = listed_program(TrainForm::benchmark);
  for (std::size_t i = 0; i < commands.size(); ++i) {
    if (commands[i].about != others[i].about) take_over(others[i], commands[i]);
  }
  return commands;
}

}  // namespace assay
