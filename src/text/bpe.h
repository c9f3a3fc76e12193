#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/vocabulary.h"

namespace assay {

/// What a pair of neighbouring tokens becomes, and how early: a lower rank is merged first.
struct Merge {
  std::int32_t rank = -1;
  std::int32_t id = -1;
};

/// (left id, right id) -> Merge, in one flat array: the look-up is the inner loop of byte-pair encoding.
class MergeTable {
 public:
  explicit MergeTable(std::size_t merges = 0);
  /// A pair that is there already gets the new merge.
  void insert(std::int32_t left, std::int32_t right, Merge merge);
  /// The merge of the pair; rank -1 where there is none.
  Merge find(std::int32_t left, std::int32_t right) const { return slots_[slot_of(key_of(left, right))].merge; }

 private:
  struct Slot {
    std::uint64_t key = ~std::uint64_t{0};
    Merge merge;
  };
  static std::uint64_t key_of(std::int32_t left, std::int32_t right) {
    return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
  }
  std::size_t slot_of(std::uint64_t key) const;

  std::vector<Slot> slots_;
};

/// Ids of the tokens <0x00> to <0xFF>, by which characters are written that the vocabulary lacks; -1: it lacks the byte
/// too.
using ByteTokens = std::array<std::int32_t, 256>;

ByteTokens find_byte_tokens(const Vocabulary& vocabulary);

/// Appends the tokens of the bytes; false, and nothing is appended, where one of them is missing.
bool append_bytes(const ByteTokens& tokens, std::string_view bytes, std::vector<std::int32_t>& ids);

/// What a word is put together from at first where that is characters, not bytes.
struct CharacterUnits {
  Vocabulary vocabulary = {};
  std::string prefix = {};  ///< Before every character but a word's first, in the vocabulary.
  std::string suffix = {};  ///< After the last.
  std::optional<ByteTokens> byte_tokens = {};
  std::int32_t unknown = -1;  ///< -1: unknown characters leave no token.
  bool fuse_unknown = false;  ///< Unknown neighbours become one token.
};

/// Byte-pair encoding (Sennrich et al. 2016; of bytes: Radford et al. 2019).
struct Bpe {
  std::array<std::int32_t, 256> byte_ids{};  ///< -1: the vocabulary lacks the byte, which then leaves no token.
  MergeTable merges;
  StringMap<std::int32_t> whole_words;       ///< Bytes -> id; a word found here is not put together. Often empty.
  std::optional<CharacterUnits> characters;  ///< In the place of `byte_ids`.
  bool joins_words = false;                  ///< A merge gives a token with a space mark behind another character.
};

/// Whether words are put together the same way when the text is cut before each run of space marks: no token reaches
/// over such a place, and the mark itself is a token, so that no unknown character waits for what follows.
bool may_cut_at_marks(const Bpe& model);

/// The letters in which byte-level vocabularies write the 256 bytes, in UTF-8.
const std::array<std::string, 256>& byte_letters();

/// The bytes that a token of a byte-level vocabulary stands for; false where it has other letters.
bool token_bytes(std::string_view token, std::string& bytes);

/// Merges of a vocabulary, best first; `prefix` stands before the second token of each and falls away in the result.
/// Throws a user error naming `name` where a merge needs a token that is unknown.
Bpe make_bpe(const Vocabulary& vocabulary, const std::vector<std::pair<std::string, std::string>>& merges,
             const std::string& name, std::string_view prefix = "");

/// Byte-pair encoding as sentencepiece does it: of all neighbours that together are a token the one with the best score
/// is merged first, the leftmost of equals. `scores` are by id. Throws a user error naming `name` where a token has a
/// character that is none by itself.
Bpe make_scored_bpe(const Vocabulary& vocabulary, const std::vector<double>& scores, const std::string& name);

/// Appends the ids of one word, any bytes. Time is O(n log n).
void append_word(const Bpe& model, std::string_view word, std::vector<std::int32_t>& ids);

}  // namespace assay
