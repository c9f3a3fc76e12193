#include "hub/elsewhere.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/printable.h"

namespace assay {

bool is_repository_word(std::string_view text) {
  const auto is_of_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.';
  };
  return !text.empty() && text.front() != '.' && std::all_of(text.begin(), text.end(), is_of_word);
}

bool is_repository_name(std::string_view name) {
  const std::size_t slash = name.find('/');
  return slash != std::string_view::npos && !name.ends_with(".gguf") && is_repository_word(name.substr(0, slash)) &&
         is_repository_word(name.substr(slash + 1));
}

std::string how_to_fetch(std::string_view name) {
  return fmt::format("as hf:{} it is fetched from the hub, where it is published there", printable(name));
}

}  // namespace assay
