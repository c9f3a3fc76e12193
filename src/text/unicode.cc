#include "text/unicode.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <unordered_map>

#include "base/error.h"
#include "base/printable.h"
#include "text/unicode_tables.h"

namespace assay::unicode {
namespace {

constexpr char32_t code_points = 0x110000;
constexpr char32_t hangul_first = 0xAC00;
constexpr char32_t hangul_count = 11172;

/// Every property of every code point, spread out of the compact tables once, at first use: a look-up is one load.
struct Spread {
  std::array<std::uint16_t, code_points> properties{};
  std::unordered_map<char32_t, std::uint8_t> combining;
  std::unordered_map<char32_t, char32_t> lower;
  std::array<std::uint16_t, code_points> kinds{};           ///< As KindRun::kind.
  std::unordered_map<char32_t, std::size_t> decomposition;  ///< Index into `decompositions`.
  std::unordered_map<char32_t, std::size_t> compatible;     ///< Index into `compatible_decompositions`.
  std::unordered_map<std::uint64_t, char32_t> composition;  ///< first << 32 | second -> composite
};

void spread_properties(Spread& spread) {
  for (std::size_t i = 0; i < property_changes.size(); ++i) {
    const std::uint32_t from = property_changes[i] >> 11;
    const std::uint32_t to = i + 1 < property_changes.size() ? property_changes[i + 1] >> 11 : code_points;
    std::fill(spread.properties.begin() + from, spread.properties.begin() + to, property_changes[i] & 0x7FF);
  }
}

void spread_maps(Spread& spread) {
  for (const CombiningRun& run : combining_runs) {
    for (std::uint32_t c = run.first; c <= run.last; ++c) spread.combining[c] = run.combining_class;
  }
  for (const LowerRun& run : lower_runs) {
    for (std::uint32_t c = run.first; c <= run.last; c += run.step) spread.lower[c] = c + run.distance;
  }
  for (std::size_t i = 0; i < decompositions.size(); i += 1 + (decompositions[i] >> 24)) {
    spread.decomposition[decompositions[i] & 0xFFFFFF] = i;
  }
  for (std::size_t i = 0; i < compatible_decompositions.size(); i += 1 + (compatible_decompositions[i] >> 24)) {
    spread.compatible[compatible_decompositions[i] & 0xFFFFFF] = i;
  }
  for (const Composition& pair : compositions) {
    spread.composition[std::uint64_t{pair.first} << 32 | pair.second] = pair.composite;
  }
}

void spread_kinds(Spread& spread) {
  for (std::size_t i = 0; i < kind_runs.size(); ++i) {
    const std::uint32_t to = i + 1 < kind_runs.size() ? kind_runs[i + 1].code_point : code_points;
    std::fill(spread.kinds.begin() + kind_runs[i].code_point, spread.kinds.begin() + to, kind_runs[i].kind);
  }
}

const Spread& tables() {
  static const std::unique_ptr<const Spread> spread = [] {
    auto made = std::make_unique<Spread>();
    spread_properties(*made);
    spread_maps(*made);
    spread_kinds(*made);
    return made;
  }();
  return *spread;
}

/// Whether the next eight bytes are characters of ASCII.
bool is_ascii_8(std::string_view bytes, std::size_t at) {
  if (bytes.size() - at < 8) return false;
  std::uint64_t word = 0;
  std::memcpy(&word, bytes.data() + at, sizeof word);
  return (word & 0x8080808080808080) == 0;
}

/// The Unicode Standard, section 3.12: a Hangul syllable is leading consonant, vowel and perhaps trailing consonant.
void append_hangul(char32_t syllable, std::u32string& out) {
  const char32_t index = syllable - hangul_first;
  out += 0x1100 + index / 588;
  out += 0x1161 + index % 588 / 28;
  if (index % 28 != 0) out += 0x11A7 + index % 28;
}

}  // namespace

std::uint16_t properties(char32_t code_point) {
  return tables().properties[code_point];
}

const std::uint16_t* property_table() {
  return tables().properties.data();
}

int category(char32_t code_point) {
  return tables().kinds[code_point] & 0x1F;
}

std::uint16_t classes(char32_t code_point) {
  return tables().kinds[code_point] >> 9;
}

GraphemeBreak grapheme_break(char32_t code_point) {
  return static_cast<GraphemeBreak>(tables().kinds[code_point] >> 5 & 0xF);
}

std::uint8_t combining_class(char32_t code_point) {
  if (code_point < 0x300) return 0;
  const auto& classes = tables().combining;
  const auto found = classes.find(code_point);
  return found == classes.end() ? 0 : found->second;
}

char32_t to_lower(char32_t code_point) {
  if (code_point < 0x80) return code_point >= 'A' && code_point <= 'Z' ? code_point + 32 : code_point;
  const auto& lower = tables().lower;
  const auto found = lower.find(code_point);
  return found == lower.end() ? code_point : found->second;
}

void append_decomposed(char32_t code_point, std::u32string& out) {
  if (code_point < 0xC0) {
    out += code_point;
    return;
  }
  if (code_point >= hangul_first && code_point < hangul_first + hangul_count) return append_hangul(code_point, out);
  const auto& known = tables().decomposition;
  const auto found = known.find(code_point);
  if (found == known.end()) {
    out += code_point;
    return;
  }
  const std::size_t length = decompositions[found->second] >> 24;
  for (std::size_t i = 1; i <= length; ++i) out += decompositions[found->second + i];
}

void append_compatible(char32_t code_point, std::u32string& out) {
  const auto& known = tables().compatible;
  const auto found = known.find(code_point);
  if (found == known.end()) return append_decomposed(code_point, out);
  const std::size_t length = compatible_decompositions[found->second] >> 24;
  for (std::size_t i = 1; i <= length; ++i) out += compatible_decompositions[found->second + i];
}

char32_t compose(char32_t first, char32_t second) {
  // The Unicode Standard, section 3.12: Hangul.
  if (first >= 0x1100 && first < 0x1113 && second >= 0x1161 && second < 0x1176) {
    return hangul_first + (first - 0x1100) * 588 + (second - 0x1161) * 28;
  }
  const bool two = first >= hangul_first && first < hangul_first + hangul_count && (first - hangul_first) % 28 == 0;
  if (two && second > 0x11A7 && second < 0x11C3) return first + (second - 0x11A7);
  const auto& known = tables().composition;
  const auto found = known.find(std::uint64_t{first} << 32 | second);
  return found == known.end() ? 0 : found->second;
}

void append_utf8(char32_t code_point, std::string& out) {
  const auto tail = [&](int shift) { out += static_cast<char>(0x80 | (code_point >> shift & 0x3F)); };
  if (code_point < 0x80) {
    out += static_cast<char>(code_point);
  } else if (code_point < 0x800) {
    out += static_cast<char>(0xC0 | code_point >> 6);
    tail(0);
  } else if (code_point < 0x10000) {
    out += static_cast<char>(0xE0 | code_point >> 12);
    tail(6), tail(0);
  } else {
    out += static_cast<char>(0xF0 | code_point >> 18);
    tail(12), tail(6), tail(0);
  }
}

std::size_t find_invalid_utf8(std::string_view bytes) {
  for (std::size_t at = 0; at < bytes.size();) {
    if (is_ascii_8(bytes, at)) {
      at += 8;
      continue;
    }
    const std::size_t length = utf8_length(bytes.substr(at));
    if (length == 0) return at;
    at += length;
  }
  return std::string_view::npos;
}

void check_utf8(std::string_view bytes, std::string_view name) {
  const std::size_t at = find_invalid_utf8(bytes);
  if (at == std::string_view::npos) return;
  fail_user("{}: is not UTF-8: byte 0x{:02x} at offset {}", name, static_cast<unsigned char>(bytes[at]), at);
}

}  // namespace assay::unicode
