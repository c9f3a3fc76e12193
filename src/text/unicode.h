#pragma once

#include <cstdint>
#include <string>
#include <string_view>

/// Unicode as the `tokenizers` library sees it.
namespace assay::unicode {

/// What a code point is. One code point may be several of these.
enum Property : std::uint16_t {
  removed = 1 << 0,      ///< BertNormalizer's clean_text drops it: controls, format characters, U+FFFD, ...
  cjk = 1 << 1,          ///< BertNormalizer's handle_chinese_chars puts spaces around it.
  mark = 1 << 2,         ///< BertNormalizer's strip_accents drops it after decomposition (category Mn).
  punctuation = 1 << 3,  ///< BertPreTokenizer makes a word of it alone.
  white = 1 << 4,        ///< BertPreTokenizer splits at it, and added tokens strip it (White_Space).
  letter = 1 << 5,       ///< \p{L} of the byte-level expressions.
  number = 1 << 6,       ///< \p{N} of the byte-level expressions.
  space = 1 << 7,        ///< \s of the byte-level expressions.
  digit = 1 << 8,        ///< The Digits pre-tokenizer splits it off.
  word = 1 << 9,         ///< \w: an added token marked single_word does not stand next to it.
};

/// More that a code point may be.
enum Class : std::uint16_t {
  han = 1 << 0,           ///< \p{Han}
  word_class = 1 << 1,    ///< \w of expressions, which differs from Property's `word`.
  pictographic = 1 << 2,  ///< Emoji and the like, which a zero-width joiner links.
  accent = 1 << 3,        ///< StripAccents drops it (categories M of an older Unicode).
};

/// Grapheme_Cluster_Break (Unicode Standard Annex 29), in the order of the generated table.
enum class GraphemeBreak : std::uint8_t {
  other,
  carriage_return,
  line_feed,
  control,
  extend,
  joiner,
  regional,
  prepend,
  spacing_mark,
  hangul_l,
  hangul_v,
  hangul_t,
  hangul_lv,
  hangul_lvt,
};

/// General category: 0 Lu, Ll, Lt, Lm, Lo, 5 Mn, Mc, Me, 8 Nd, Nl, No, 11 Pc, Pd, Ps, Pe, Pi, Pf, Po, 18 Sm, Sc, Sk,
/// So, 22 Zs, Zl, Zp, 25 Cc, Cf, Cs, Co, Cn.
int category(char32_t code_point);
/// Flags of Class.
std::uint16_t classes(char32_t code_point);
GraphemeBreak grapheme_break(char32_t code_point);

/// Flags of Property. code_point <= 0x10FFFF.
std::uint16_t properties(char32_t code_point);
/// The same for all code points, for loops over many of them.
const std::uint16_t* property_table();

/// Canonical combining class; 0 for a starter.
std::uint8_t combining_class(char32_t code_point);

/// The code point in lower case by itself (no context rules). U+0130 becomes two code points: ask for it first.
char32_t to_lower(char32_t code_point);

/// Appends the full canonical decomposition (the code point itself where it has none), not yet in canonical order.
void append_decomposed(char32_t code_point, std::u32string& out);

/// The same for compatibility decompositions (NFKD).
void append_compatible(char32_t code_point, std::u32string& out);

/// The code point that NFC makes of two, 0 where it leaves them.
char32_t compose(char32_t first, char32_t second);

void append_utf8(char32_t code_point, std::string& out);

/// The code point that starts at text[at]; moves `at` past it. The text must be valid UTF-8 (see check_utf8).
inline char32_t next_code_point(std::string_view text, std::size_t& at) {
  const auto byte = [&](std::size_t i) { return static_cast<char32_t>(static_cast<unsigned char>(text[i])); };
  const char32_t lead = byte(at++);
  if (lead < 0x80) return lead;
  const int more = lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : 3;
  char32_t code_point = lead & (0x3F >> more);
  for (int i = 0; i < more; ++i) code_point = code_point << 6 | (byte(at++) & 0x3F);
  return code_point;
}

/// The code point that ends before text[at], at > 0; moves `at` to its first byte.
inline char32_t previous_code_point(std::string_view text, std::size_t& at) {
  do --at;
  while ((static_cast<unsigned char>(text[at]) & 0xC0) == 0x80);
  std::size_t start = at;
  return next_code_point(text, start);
}

/// Offset of the first byte that is not part of well-formed UTF-8 (no surrogates, no overlong forms), or npos.
std::size_t find_invalid_utf8(std::string_view bytes);

/// Throws a user error that names `name` and the byte's offset and value where the bytes are not UTF-8.
void check_utf8(std::string_view bytes, std::string_view name);

}  // namespace assay::unicode
