#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "text/expression.h"

namespace assay {

/// What sentencepiece writes for a space, U+2581.
inline constexpr std::string_view space_mark = "\u2581";

/// Ways to cut a text into pieces. The expressions are matched by hand, with the regular expression engine's own
/// character classes.
enum class Splitter {
  whole,         ///< One piece.
  bert,          ///< At white space, which is dropped; every punctuation character is a piece.
  words,         ///< \w+|[^\w\s]+ with the library's own \w; white space is dropped.
  digits,        ///< Every number character is a piece.
  digit_runs,    ///< Every run of number characters is a piece.
  gpt2,          ///< 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
  llama3,        ///< (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|
                 ///< \s*[\r\n]+|\s+(?!\S)|\s+
  qwen2,         ///< As llama3, with \p{N} alone.
  marked_words,  ///< \u2581*[^\u2581]+|\u2581+
};

/// What becomes of the matches of an expression that cuts a text.
enum class Behaviour { isolated, removed, merged_with_previous, merged_with_next, contiguous };

/// Where a piece gets a space before it: `first` only where it stands for the very first character of the text.
enum class PrefixSpace { never, first, always };

/// One way to cut, after which the next one is applied to every piece.
struct SplitStep {
  Splitter splitter = Splitter::whole;
  PrefixSpace prefix = PrefixSpace::never;    ///< For a piece that does not start with `space`, before it is cut.
  std::string space = " ";                    ///< Another than a space replaces every space first.
  std::optional<Expression> expression = {};  ///< Cuts in the place of `splitter`.
  Behaviour behaviour = Behaviour::isolated;
  bool inverted = false;  ///< What lies between matches counts as the match.
};

/// A piece of a text, and how many of its bytes, from the left, stand for the first character of the whole text.
using TakePiece = std::function<void(std::string_view piece, std::size_t first_bytes)>;

/// Cuts a text (valid UTF-8, not empty) and hands out the pieces from left to right; the views live as long as the
/// call.
void split(const SplitStep& step, std::string_view text, std::size_t first_bytes, const TakePiece& take);

/// How many of `first_bytes` at the beginning of a text lie at `at` and behind it.
inline std::size_t first_bytes_at(std::size_t at, std::size_t first_bytes) {
  return first_bytes > at ? first_bytes - at : 0;
}

}  // namespace assay
