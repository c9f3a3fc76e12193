#include "results/model_name.h"

#include <algorithm>
#include <vector>

namespace assay {
namespace {

/// Folders and file of a path; of a snapshot its name in place of the folders that say so.
std::vector<std::string> path_parts_of(std::string_view asked) {
  std::vector<std::string> parts;
  while (!asked.empty()) {
    const std::size_t end = std::min(asked.find('/'), asked.size());
    const std::string_view part = asked.substr(0, end);
    if (!part.empty() && part != ".") parts.emplace_back(part);
    asked.remove_prefix(std::min(end + 1, asked.size()));
  }
  const std::size_t count = parts.size();
  if (count < 3 || parts[count - 2] != "snapshots" || !parts[count - 3].starts_with("models--")) return parts;
  const std::string repository = parts[count - 3];
  parts.resize(count - 3);
  parts.push_back(repository.substr(repository.rfind("--") + 2));
  return parts;
}

/// The last so many, at least one.
std::string last_parts_of(std::string_view asked, std::size_t count) {
  const std::vector<std::string> parts = path_parts_of(asked);
  if (asked.find('/') == std::string_view::npos || parts.empty()) return std::string(asked);
  std::string name;
  for (std::size_t i = parts.size() - std::min(count, parts.size()); i < parts.size(); ++i)
    name += (name.empty() ? "" : "/") + parts[i];
  return name;
}

}  // namespace

std::string shown_model_name(std::string_view asked) {
  return last_parts_of(asked, 1);
}

std::map<std::string, std::string> distinct_model_names(std::span<const std::string> asked) {
  constexpr std::size_t longest = 64;
  std::map<std::string, std::string> names;
  for (const std::string& one : asked) {
    std::size_t count = 1;
    const auto is_shared = [&](const std::string& other) {
      return other != one && last_parts_of(other, count) == last_parts_of(one, count);
    };
    while (count < longest && std::any_of(asked.begin(), asked.end(), is_shared)) ++count;
    names[one] = count < longest ? last_parts_of(one, count) : one;
  }
  return names;
}

}  // namespace assay
