#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/bpe.h"
#include "text/vocabulary.h"

namespace assay {

/// Unigram language model (Kudo 2018): of all ways to put a text together from the vocabulary, the one whose tokens'
/// scores (log probabilities) have the largest sum.
struct Unigram {
  Vocabulary vocabulary;
  std::vector<double> scores;          ///< By id.
  MergeTable children;                 ///< (node, byte) -> node, in `id`; node 0 is the root.
  std::vector<std::int32_t> token_at;  ///< Id of the token that ends at a node, -1 where none does.
  std::int32_t unknown = -1;           ///< What characters become that no token holds; neighbours become one.
  double unknown_score = 0;
  std::optional<ByteTokens> byte_tokens = {};
};

/// `tokens`: text and score, the index is the id. Of two that are alike the later one counts.
Unigram make_unigram(const std::vector<std::pair<std::string, double>>& tokens);

/// Appends the ids of one word (valid UTF-8, not empty). Throws a user error where the model has no unknown token and a
/// character needs it.
void append_word(const Unigram& model, std::string_view word, std::vector<std::int32_t>& ids);

}  // namespace assay
