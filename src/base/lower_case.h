#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace assay {

/// ASCII capitals as small letters; every other byte as it is, whatever the locale.
inline std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

}  // namespace assay
