#include "text/precompiled.h"

#include "base/error.h"
#include "text/graphemes.h"
#include "text/unicode.h"

namespace assay {
namespace {

/// Fields of a unit of the double array, as darts-clone packs them.
bool has_leaf(std::uint32_t unit) {
  return (unit >> 8 & 1) != 0;
}
std::uint32_t value_of(std::uint32_t unit) {
  return unit & 0x7FFFFFFF;
}
std::uint32_t label_of(std::uint32_t unit) {
  return unit & (std::uint32_t{1} << 31 | 0xFF);
}
std::uint32_t offset_of(std::uint32_t unit) {
  return unit >> 10 << ((unit & 1 << 9) >> 6);
}

/// What the shortest known beginning of `text` becomes; data() is null where none is known.
std::string_view replacement_of(const CharacterMap& map, std::string_view text) {
  if (map.units.empty()) return {};
  std::size_t place = offset_of(map.units[0]);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte == 0) return {};
    place ^= byte;
    if (place >= map.units.size()) return {};
    const std::uint32_t unit = map.units[place];
    if (label_of(unit) != byte) return {};
    place ^= offset_of(unit);
    if (!has_leaf(unit)) continue;
    const std::size_t offset = place < map.units.size() ? value_of(map.units[place]) : map.replacements.size();
    if (offset >= map.replacements.size()) return {};
    return std::string_view(map.replacements).substr(offset, map.replacements.find('\0', offset) - offset);
  }
  return {};
}

/// Calls take(part, what it becomes) for the grapheme at `at` or its characters, and moves `at` behind it.
template <typename Take>
void map_grapheme(const CharacterMap& map, std::string_view text, std::size_t& at, const Take& take) {
  const auto replaced = [&](std::string_view part) {
    const std::string_view found = replacement_of(map, part);
    if (found.data() != nullptr) take(part, found);
    return found.data() != nullptr;
  };
  const std::size_t end = grapheme_end(text, at);
  if (end - at < 6 && replaced(text.substr(at, end - at))) at = end;
  while (at < end) {
    const std::size_t begin = at;
    unicode::next_code_point(text, at);
    const std::string_view character = text.substr(begin, at - begin);
    if (!replaced(character)) take(character, character);
  }
}

std::size_t code_points(std::string_view text) {
  std::size_t count = 0;
  for (std::size_t at = 0; at < text.size(); ++count) unicode::next_code_point(text, at);
  return count;
}

/// Follows a map as the library's offsets do: each character written takes the place of one that was replaced, those
/// beyond share the last one's; replaced ones beyond are passed over, but not before something was written.
class MappedBytes {
 public:
  MappedBytes(std::string_view text, std::size_t count) : text_(text), count_(count) {}

  void take(std::string_view part, std::string_view made) {
    std::size_t left = code_points(part);
    for (std::size_t at = 0; at < made.size();) {
      if (left > 0 && is_done()) return;
      if (left > 0) pass(1), --left;
      const std::size_t begin = at;
      unicode::next_code_point(made, at);
      bytes_ += at - begin;
    }
    if (bytes_ > 0) pass(left);
  }
  bool is_done() const { return place_ >= count_; }
  std::size_t bytes() const { return bytes_; }

 private:
  void pass(std::size_t characters) {
    for (; characters > 0 && place_ < text_.size(); --characters) unicode::next_code_point(text_, place_);
  }

  std::string_view text_;
  std::size_t count_;
  std::size_t place_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace

CharacterMap read_character_map(std::string_view bytes, const std::string& name) {
  const auto word = [&](std::size_t at) {
    std::uint32_t value = 0;
    for (std::size_t i = 4; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
    return value;
  };
  const std::size_t length = bytes.size() < 4 ? 1 : word(0);
  if (length % 4 != 0 || length > bytes.size() - 4) fail_user("{}: the precompiled character map is cut short", name);
  CharacterMap map;
  map.units.reserve(length / 4);
  for (std::size_t at = 4; at < 4 + length; at += 4) map.units.push_back(word(at));
  map.replacements = bytes.substr(4 + length);
  unicode::check_utf8(map.replacements, name + ": the precompiled character map");
  return map;
}

std::string map_characters(const CharacterMap& map, std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) map_grapheme(map, text, at, [&](auto, auto made) { out += made; });
  return out;
}

std::size_t mapped_bytes(const CharacterMap& map, std::string_view text, std::size_t count) {
  MappedBytes counted(text, count);
  for (std::size_t at = 0; at < text.size() && !counted.is_done();)
    map_grapheme(map, text, at, [&](auto part, auto made) { counted.take(part, made); });
  return counted.bytes();
}

std::string from_base64(std::string_view text, const std::string& name) {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  while (text.ends_with('=')) text.remove_suffix(1);
  std::string bytes;
  std::uint32_t held = 0;
  int held_bits = 0;
  for (const char c : text) {
    const std::size_t value = digits.find(c);
    if (value == std::string_view::npos) fail_user("{}: is not base64", name);
    held = held << 6 | static_cast<std::uint32_t>(value);
    held_bits += 6;
    if (held_bits < 8) continue;
    held_bits -= 8;
    bytes += static_cast<char>(held >> held_bits & 0xFF);
  }
  return bytes;
}

}  // namespace assay
