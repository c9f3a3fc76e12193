#pragma once

#include <algorithm>
#include <string_view>

namespace assay {

/// Whether `sees` holds for the name of a known thing or for one of its `spellings`, which '|' separates.
template <typename Known, typename Sees>
bool any_spelling(const Known& known, Sees&& sees) {
  if (sees(std::string_view(known.name))) return true;
  std::string_view rest = known.spellings;
  while (!rest.empty()) {
    const auto end = std::min(rest.find('|'), rest.size());
    if (sees(rest.substr(0, end))) return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

}  // namespace assay
