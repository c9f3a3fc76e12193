#pragma once

#include <cstddef>
#include <string_view>

namespace assay {

/// Ways to cut a text into pieces. The expressions are matched by hand, with the regular expression engine's own
/// character classes.
enum class Splitter {
  whole,       ///< One piece.
  bert,        ///< At white space, which is dropped; every punctuation character is a piece.
  digits,      ///< Every number character is a piece.
  digit_runs,  ///< Every run of number characters is a piece.
  gpt2,        ///< 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
  llama3,      ///< (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|
               ///< \s*[\r\n]+|\s+(?!\S)|\s+
  qwen2,       ///< As llama3, with \p{N} alone.
};

/// One way to cut, after which the next one is applied to every piece.
struct SplitStep {
  Splitter splitter = Splitter::whole;
  bool add_prefix_space = false;  ///< A piece that does not start with a space gets one before it is cut.
};

/// Finds the next piece at or after text[at]. On success sets `piece`, moves `at` past it and returns true; at the end
/// of the text returns false. The text must be valid UTF-8.
bool next_piece(Splitter splitter, std::string_view text, std::size_t& at, std::string_view& piece);

}  // namespace assay
