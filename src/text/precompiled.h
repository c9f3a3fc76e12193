#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

/// The character map that sentencepiece compiles into a vocabulary: a double array (Aoe 1989; Yata's darts-clone) from
/// texts to offsets into what replaces them.
struct CharacterMap {
  std::vector<std::uint32_t> units;
  std::string replacements;  ///< Each ends with a NUL.
};

/// `bytes`: length of the double array in bytes (u32, little-endian), the array, the replacements. Throws a user error
/// that begins with `name` where that is not so, or an array leads outside of itself.
CharacterMap read_character_map(std::string_view bytes, const std::string& name);

/// The text as the `tokenizers` library's Precompiled normaliser writes it: a grapheme of less than six bytes is
/// replaced whole by what its shortest known beginning becomes, else each character by itself.
std::string map_characters(const CharacterMap& map, std::string_view text);

/// How many bytes at the beginning of the mapped text the library takes to come from the first `count` bytes of `text`.
/// It forgets what was dropped before anything was written: what comes next then stands in its place.
std::size_t mapped_bytes(const CharacterMap& map, std::string_view text, std::size_t count);

/// The bytes that base64 text stands for. Throws a user error that begins with `name` for other characters.
std::string from_base64(std::string_view text, const std::string& name);

}  // namespace assay
