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
/// Rows of given ids and masks; a language model scores next tokens (labels by token, where it has some: position t is
/// scored on label t + 1), a classifier the labels.
enum class Scored : std::uint8_t { next_tokens, labels };
QualitySet given_tokens(const TokenBatch& tokens, Scored scored, std::int64_t batch);
/// One sentence a row, right-padded to the longest of its batch; at most `context` ids each.
QualitySet sentences(const LabelledSet& set, const Tokenizer& tokenizer, std::int64_t context, std::int64_t batch);

/// Keeps whole rows from the start with at most so many real ids together, one row at least; `tokens` and `taken` say
/// what is left.
void keep_first_rows(QualitySet& set, std::int64_t most_tokens);

}  // namespace assay
