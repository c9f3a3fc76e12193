#include "cli/origin.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <generated/commit.h>  // Of the build folder: cmake/commit.cmake.

#include <chrono>
#include <fstream>

#include "base/secrets.h"

namespace assay {
namespace {

/// A word as a shell takes it.
std::string shell_word(const std::string& word) {
  constexpr const char* plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,:@%";
  if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? "'\\''" : std::string(1, c);
  return text + "'";
}

}  // namespace

std::vector<std::string> command_words() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(without_secrets(word));
  return words;
}

std::string shell_line(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + shell_word(word);
  return text;
}

std::string command_line() {
  return shell_line(command_words());
}

RunOrigin run_origin() {
  static const auto started = std::chrono::system_clock::now();
  const std::time_t seconds = std::chrono::system_clock::to_time_t(started);
  return {.date = fmt::format("{:%Y-%m-%dT%H:%M:%S}Z", fmt::gmtime(seconds)),
          .command = command_line(),
          .commit = ASSAY_COMMIT};
}

}  // namespace assay
