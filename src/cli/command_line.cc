#include "cli/command_line.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string_view>
#include <system_error>

#include "base/error.h"
#include "cli/other_names.h"

namespace assay {
namespace {

/// Before a word that stands in brackets. A word that begins with it has one more.
constexpr char mark = '\x01';

std::string with_mark(const std::string& word) {
  const std::size_t sign = word.starts_with("--") ? word.find('=') : std::string::npos;
  const std::size_t begin = sign == std::string::npos ? 0 : sign + 1;
  const std::string_view value = std::string_view(word).substr(begin);
  const bool is_in_brackets = value.starts_with('[') && value.ends_with(']');
  if (!is_in_brackets && !value.starts_with(mark)) return word;
  return word.substr(0, begin) + mark + std::string(value);
}

std::string without_mark(const std::string& word) {
  return word.starts_with(mark) ? word.substr(1) : word;
}

/// The option that a word names, with a value behind "=" or without; null: none of the command's.
const CLI::Option* option_of(const CLI::App& command, const std::string& word) {
  if (!word.starts_with('-') || word.size() == 1) return nullptr;
  return command.get_option_no_throw(word.substr(0, word.find('=')));
}

void check_equals(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (word == "--") return;
    if (word.starts_with("--") && word.find('=') == word.size() - 1)
      fail_user("{}: its value is empty", word.substr(0, word.size() - 1));
  }
}

void check_next_words(const CLI::App& command, const std::vector<std::string>& words) {
  for (std::size_t i = 0; i + 1 < words.size() && words[i] != "--"; ++i) {
    const CLI::Option* option = option_of(command, words[i]);
    const std::string& next = words[i + 1];
    if (option == nullptr || option->get_expected_min() == 0 || words[i].find('=') != std::string::npos) continue;
    if (next == "--") fail_user("{}: has no value before the --", words[i]);
    if (option_of(command, next) != nullptr)
      fail_user("{}: has no value; {}, which follows it, is an option", words[i], next.substr(0, next.find('=')));
  }
}

bool has_empty_element(std::string_view list) {
  return list.starts_with(',') || list.ends_with(',') || list.find(",,") != std::string_view::npos;
}

/// That takes words without an option; null: none does that takes a list.
const CLI::Option* positional_list(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_positional() && option->get_delimiter() == ',') return option;
  }
  return nullptr;
}

void check_lists(const CLI::App& command, const std::vector<std::string>& words) {
  const CLI::Option* const positional = positional_list(command);
  const CLI::Option* option = positional;  // That takes the next word.
  for (std::size_t i = 1; i < words.size() && words[i] != "--"; ++i) {
    const CLI::Option* named = option_of(command, words[i]);
    const std::size_t sign = words[i].find('=');
    const bool names_alone = named != nullptr && sign == std::string::npos;
    if (named != nullptr) option = named;
    const std::string list = named == nullptr ? words[i] : names_alone ? "" : words[i].substr(sign + 1);
    if (option != nullptr && option->get_delimiter() == ',' && has_empty_element(list))
      fail_user("{} {}: has an empty element", option->get_name(), list);
    const bool takes_more =
        option != nullptr && (option->get_allow_extra_args() || (names_alone && option->get_expected_max() > 0));
    if (!takes_more) option = positional;
  }
}

/// An empty word would mean the default without a word: a variable of a script that is not set, most likely.
void check_not_empty(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    const bool is_of_another = option->get_name() == "command";  // The words of a program that is measured.
    if (is_of_another || option->get_expected_min() == 0) continue;
    for (const std::string& word : words_of(*option)) {
      if (word.empty()) fail_user("{}: its value is empty", option->get_name());
    }
  }
}

/// Whole numbers that the parser lets pass: below 0 where none is meant (it would wrap around), beyond 64 bits (the
/// nearest one would be taken).
void check_whole_numbers(const CLI::App& command) {
  constexpr std::string_view digits = "0123456789";
  for (const CLI::Option* option : command.get_options()) {
    const std::string type = option->get_type_name();
    const bool is_unsigned = type.starts_with("UINT");
    if (!is_unsigned && !type.starts_with("INT")) continue;
    for (const std::string& word : words_of(*option)) {
      const bool is_negative = word.starts_with('-');
      const std::string_view number = std::string_view(word).substr(is_negative || word.starts_with('+') ? 1 : 0);
      if (number.empty() || number.find_first_not_of(digits) != std::string_view::npos) continue;
      if (is_negative && is_unsigned) fail_user("{} {}: must not be below 0", option->get_name(), word);
      std::uint64_t value = 0;
      const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
      const std::uint64_t most = is_unsigned ? UINT64_MAX : static_cast<std::uint64_t>(INT64_MAX);
      if (error != std::errc() || value > most) fail_user("{} {}: must be at most {}", option->get_name(), word, most);
    }
  }
}

}  // namespace

std::vector<std::string> words_to_parse(const CLI::App& program, const std::vector<std::string>& words) {
  check_equals(words);
  std::vector<std::string> own = with_own_names(program, words);
  if (const CLI::App* command = find_command(program, own)) {
    check_next_words(*command, own);
    check_lists(*command, own);
  } else if (!own.empty() && !own.front().starts_with('-')) {
    fail_user("{}: is no command (assay --help lists what there is)", own.front());
  }
  std::transform(own.begin(), own.end(), own.begin(), with_mark);
  return own;
}

void take_words_whole(CLI::App& program) {
  const auto whole = [](std::string& word) {
    word = without_mark(word);
    return std::string();
  };
  for (CLI::App* command : program.get_subcommands([](CLI::App*) { return true; })) {
    for (CLI::Option* option : command->get_options()) option->transform(CLI::Validator(whole, ""));
  }
}

std::string without_marks(std::string text) {
  text.erase(std::remove(text.begin(), text.end(), mark), text.end());
  return text;
}

std::vector<std::string> words_of(const CLI::Option& option) {
  std::vector<std::string> words = option.results();
  std::transform(words.begin(), words.end(), words.begin(), without_mark);
  return words;
}

void check_values(const CLI::App& command) {
  check_not_empty(command);
  check_whole_numbers(command);
}

}  // namespace assay
