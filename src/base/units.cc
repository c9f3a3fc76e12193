#include "base/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace assay {

std::string format_significant(double value, int digits) {
  if (value == 0.0 || !std::isfinite(value)) return fmt::format("{}", value);
  const int magnitude = static_cast<int>(std::floor(std::log10(std::abs(value))));
  return fmt::format("{:.{}f}", value, std::max(0, digits - 1 - magnitude));
}

std::string format_bytes(double bytes) {
  if (bytes < 1e3) return fmt::format("{:.0f} B", bytes);
  if (bytes < 1e6) return format_significant(bytes / 1e3) + " kB";
  if (bytes < 1e9) return format_significant(bytes / 1e6) + " MB";
  return format_significant(bytes / 1e9) + " GB";
}

std::string format_count(std::int64_t count) {
  const auto magnitude = static_cast<std::uint64_t>(count);
  std::string digits = std::to_string(count < 0 ? 0 - magnitude : magnitude);
  for (auto at = static_cast<std::int64_t>(digits.size()) - 3; at > 0; at -= 3) {
    digits.insert(static_cast<std::size_t>(at), 1, ',');
  }
  return count < 0 ? "-" + digits : digits;
}

}  // namespace assay
