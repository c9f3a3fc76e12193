#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/vocabulary.h"

namespace assay {

/// WordPiece (Schuster & Nakajima 2012, as BERT uses it): the longest known token first, again and again.
struct WordPiece {
  Vocabulary starts;      ///< Tokens that may start a word: all of them.
  Vocabulary continuing;  ///< Tokens that continue a word, without the prefix ("##").
  std::size_t longest_start = 0;
  std::size_t longest_continuing = 0;  ///< In bytes.
  std::int32_t unknown = 0;            ///< What a word becomes that is too long or cannot be put together.
  std::size_t most_characters = 100;   ///< Code points.
};

/// `vocabulary` must hold `unknown_token`; the caller has checked it.
WordPiece make_wordpiece(Vocabulary vocabulary, const std::string& unknown_token, const std::string& prefix);

/// Appends the ids of one word (valid UTF-8, not empty).
void append_word(const WordPiece& model, std::string_view word, std::vector<std::int32_t>& ids);

}  // namespace assay
