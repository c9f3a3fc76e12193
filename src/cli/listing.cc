#include "cli/listing.h"

#include <algorithm>
#include <iterator>
#include <sstream>

#include "cli/commands.h"
#include "cli/other_names.h"

namespace assay {
namespace {

struct NamedValue {
  const char* name;
  Takes takes;
};

/// What a name says of the value, where the tree does not.
constexpr NamedValue named_values[] = {
    {"model", Takes::models},    {"models", Takes::models},     {"name", Takes::models},   {"--model", Takes::models},
    {"--models", Takes::models}, {"--baseline", Takes::models}, {"page", Takes::commands},
};

std::string trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(' ');
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

std::vector<std::string> choices_of(const CLI::Option& option) {
  std::vector<std::string> words;
  std::istringstream text(option.get_option_text());
  for (std::string word; std::getline(text, word, '|');) words.push_back(word);
  return words.size() > 1 ? words : std::vector<std::string>{};
}

std::vector<std::string> names_of(const CLI::Option& option) {
  if (option.get_positional()) return {option.get_name(true)};
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  return names;
}

Takes taken_by(const CLI::Option& option, const ListedOption& listed) {
  if (option.get_expected_max() == 0) return Takes::nothing;
  if (!listed.choices.empty()) return Takes::choice;
  if (takes_precisions(option)) return Takes::precisions;
  for (const NamedValue& row : named_values) {
    if (std::find(listed.names.begin(), listed.names.end(), row.name) != listed.names.end()) return row.takes;
  }
  return Takes::anything;
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
                      .choices = choices_of(option)};
  result.takes = taken_by(option, result);
  if (option.get_delimiter() == ',') result.several = Several::by_comma;
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

bool lists_option(const ListedCommand& command, const ListedOption& wanted) {
  return std::any_of(command.options.begin(), command.options.end(),
                     [&](const ListedOption& option) { return option.names == wanted.names; });
}

void take_over(const ListedCommand& benchmark, ListedCommand& command) {
  for (ListedOption option : benchmark.options) {
    if (option.is_word() || lists_option(command, option)) continue;
    option.heading = "With --benchmark";
    command.options.push_back(std::move(option));
  }
  command.about += "; --benchmark: " + benchmark.about;
  command.examples += benchmark.examples;
}

}  // namespace

std::vector<ListedCommand> listed_commands() {
  std::vector<ListedCommand> commands = listed_program(TrainForm::training);
  const std::vector<ListedCommand> others = listed_program(TrainForm::benchmark);
  for (std::size_t i = 0; i < commands.size(); ++i) {
    if (commands[i].about != others[i].about) take_over(others[i], commands[i]);
  }
  return commands;
}

}  // namespace assay
