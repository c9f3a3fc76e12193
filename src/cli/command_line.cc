#include "cli/command_line.h"

#include <charconv>
#include <cstdint>
#include <string_view>
#include <system_error>

#include "base/error.h"
#include "cli/other_names.h"

namespace assay {
namespace {

/// Keeps the parser from what it would do with a word, and goes again in without_marks(). One that a word has by itself
/// is doubled.
constexpr char mark = '\x02';
constexpr std::string_view empty_element = "\x02";

/// A mark before what stands in brackets, and one in the place of each empty element of a list.
std::string with_marks(std::string_view value) {
  std::string marked;
  if (value.starts_with('[') && value.ends_with(']')) marked += mark;
  char before = ',';
  for (const char c : value) {
    if (c == mark || (c == ',' && before == ',')) marked += mark;
    marked += c;
    before = c;
  }
  if (value.ends_with(',')) marked += mark;
  return marked;
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

/// Values behind "=" too, but not in the words of another program.
void mark_words(const CLI::App& command, std::vector<std::string>& words) {
  bool is_ours = true;
  for (std::string& word : words) {
    is_ours = is_ours && word != "--";
    const bool has_value = is_ours && option_of(command, word) != nullptr && word.find('=') != std::string::npos;
    const std::size_t begin = has_value ? word.find('=') + 1 : 0;
    word = word.substr(0, begin) + with_marks(std::string_view(word).substr(begin));
  }
}

/// An empty word would mean the default without a word: a variable of a script that is not set, most likely.
void check_not_empty(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    const bool is_of_another = option->get_name() == "command";  // The words of a program that is measured.
    if (is_of_another || option->get_expected_min() == 0) continue;
    for (const std::string& word : option->results()) {
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
    for (const std::string& word : option->results()) {
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
    mark_words(*command, own);
  } else if (!own.empty() && !own.front().starts_with('-')) {
    fail_user("{}: is no command (assay --help lists what there is)", own.front());
  }
  return own;
}

void take_words_whole(CLI::App& program) {
  const auto whole = [](std::string& word) {
    if (word == empty_element) return std::string("has an empty element");
    word = without_marks(word);
    return std::string();
  };
  for (CLI::App* command : program.get_subcommands([](CLI::App*) { return true; })) {
    for (CLI::Option* option : command->get_options()) option->transform(CLI::Validator(whole, ""));
  }
}

std::string without_marks(std::string_view text) {
  std::string plain;
  bool is_mark = false;
  for (const char c : text) {
    is_mark = c == mark && !is_mark;  // Of two the second stays.
    if (!is_mark) plain += c;
  }
  return plain;
}

void check_values(const CLI::App& command) {
  check_not_empty(command);
  check_whole_numbers(command);
}

}  // namespace assay
