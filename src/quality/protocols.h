#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "quality/evaluate.h"
#include "text/corpus.h"
#include "text/tokenizer.h"

namespace assay {

/// How text becomes scored windows. Every protocol is named in the record, because each gives another perplexity.
enum class Protocol : std::uint8_t {
  window,       ///< Non-overlapping windows; every id but the first of each is scored.
  stride,       ///< Overlapping windows; of each only the ids that no window before has scored.
  padded_lines  ///< One line a row, cut and right-padded to the window's length, padding masked out.
};
const char* name(Protocol protocol);

struct ProtocolOptions {
  Protocol protocol = Protocol::window;
  std::int64_t window = 128;
  std::int64_t stride = 64;                      ///< stride: ids between the starts of two windows
  std::optional<std::int64_t> most_tokens = {};  ///< Of the data, from its start; 0 or absent: all.
  std::int64_t batch = 8;                        ///< Rows run at a time; no figure depends on it beyond rounding.
};

/// Windows over a stream of ids. A last window shorter than two ids is left out.
QualitySet windows(std::span<const std::int32_t> ids, const ProtocolOptions& options);
/// One non-empty line a row. `padding` fills the rest and is masked.
QualitySet padded_lines(std::string_view text, const Tokenizer& tokenizer, std::int32_t padding,
                        const ProtocolOptions& options);
/// How a masked language model is asked for one token.
struct MaskedAs {
  std::int32_t mask = 0;             ///< Stands in the token's place.
  std::vector<std::int32_t> before;  ///< Before every row ([CLS]),
  std::vector<std::int32_t> after;   ///< and behind it ([SEP]).
};
/// Pseudo-perplexity (Salazar et al. 2020): each id of a row is masked by itself and scored where it stood, so that a
/// row of n ids makes n rows. The rows are non-overlapping windows over a stream of ids, no wider than the window with
/// what stands before and behind.
QualitySet masked_windows(std::span<const std::int32_t> ids, const MaskedAs& masked, const ProtocolOptions& options);
/// The same of lines, a row each; what does not fit into the window is cut off.
QualitySet masked_lines(std::string_view text, const Tokenizer& tokenizer, const MaskedAs& masked,
                        const ProtocolOptions& options);
/// Rows of given ids and masks; a language model scores next tokens (labels by token, where it has some: position t is
/// scored on label t + 1), a classifier the labels, one a row or one a token.
enum class Scored : std::uint8_t { next_tokens, labels, token_labels };
QualitySet given_tokens(const TokenBatch& tokens, Scored scored, std::int64_t batch);
/// One sentence, or one pair, a row, right-padded to the longest of its batch; at most `context` ids each.
QualitySet sentences(const LabelledSet& set, const Tokenizer& tokenizer, std::int64_t context, std::int64_t batch);

/// Pairs of sentences, each of the two a row of its own, one behind the other.
QualitySet sentences_apart(const LabelledSet& set, const Tokenizer& tokenizer, std::int64_t context,
                           std::int64_t batch);

/// Sentences of tagged words, each word cut into tokens by itself, the first of which has its tag for a target; at most
/// `context` ids each.
QualitySet tagged_words(const TaggedSet& set, const Tokenizer& tokenizer, std::int64_t context, std::int64_t batch);

/// Of all batches together.
std::int64_t row_count(const QualitySet& set);

/// Keeps whole rows from the start with at most so many real ids together, one row at least; `tokens` and `taken` say
/// what is left.
void keep_first_rows(QualitySet& set, std::int64_t most_tokens);

}  // namespace assay
