#include "cli/command_line.h"

#include <charconv>
#include <cstdint>
#include <string_view>
#include <system_error>

#include "base/error.h"

namespace assay {
namespace {

bool has_empty_element(std::string_view list) {
  return list.starts_with(',') || list.ends_with(',') || list.find(",,") != std::string_view::npos;
}

/// An empty word would mean the default without a word: a variable of a script that is not set, most likely.
void check_not_empty(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_positional() || option->get_expected_min() == 0) continue;
    for (const std::string& word : option->results()) {
      if (word.empty()) fail_user("{}: its value is empty", option->get_name());
    }
  }
}

/// `--store --seq=8`: the parser takes whatever follows for the value.
void check_not_options(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_positional()) continue;
    for (const std::string& word : option->results()) {
      const std::string name = word.substr(0, word.find('='));
      if (name == "--") fail_user("{}: has no value before the --", option->get_name());
      if (name.starts_with("--") && command.get_option_no_throw(name) != nullptr)
        fail_user("{}: has no value; {}, which follows it, is an option", option->get_name(), name);
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

void check_has_values(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (word == "--") return;
    if (word.starts_with("--") && word.find('=') == word.size() - 1)
      fail_user("{}: its value is empty", word.substr(0, word.size() - 1));
  }
}

void check_lists(const CLI::App& command, const std::vector<std::string>& words) {
  const CLI::Option* option = nullptr;  // Whose values follow.
  for (const std::string& word : words) {
    if (word == "--") return;
    std::string value = word;
    const std::size_t end = word.find('=');
    const CLI::Option* named = word.starts_with('-') ? command.get_option_no_throw(word.substr(0, end)) : nullptr;
    if (named != nullptr) {
      option = named;
      value = end == std::string::npos ? "" : word.substr(end + 1);
    }
    if (option != nullptr && option->get_delimiter() == ',' && has_empty_element(value))
      fail_user("{} {}: has an empty element", option->get_name(), value);
  }
}

void check_values(const CLI::App& command) {
  check_not_empty(command);
  check_not_options(command);
  check_whole_numbers(command);
}

}  // namespace assay
