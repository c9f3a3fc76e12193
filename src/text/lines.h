#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace assay {

/// The line that begins at content[at], without its end ("\n" or "\r\n"); moves `at` past it.
inline std::string_view next_line(std::string_view content, std::size_t& at) {
  const std::size_t end = std::min(content.find('\n', at), content.size());
  std::string_view line = content.substr(at, end - at);
  if (line.ends_with('\r')) line.remove_suffix(1);
  at = end + 1;
  return line;
}

}  // namespace assay
