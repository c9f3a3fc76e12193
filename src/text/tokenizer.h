#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>

#include "text/added_tokens.h"
#include "text/bpe.h"
#include "text/decoder.h"
#include "text/normalizer.h"
#include "text/splitter.h"
#include "text/unigram.h"
#include "text/wordlevel.h"
#include "text/wordpiece.h"

namespace assay {

enum class TokenizerKind { wordpiece, byte_level_bpe, bpe, unigram, wordlevel };

/// "wordpiece", "byte-level bpe", ...
const char* name_of(TokenizerKind kind);

/// Two texts as one row: which of them, or which special token, comes where.
struct PairPiece {
  enum class Kind { first, second, special };
  Kind kind = Kind::special;
  std::int32_t type_id = 0;
  std::vector<std::int32_t> ids = {};  ///< Of a special token.
};

/// A row of two texts.
struct PairIds {
  std::vector<std::int32_t> ids;
  std::vector<std::int32_t> type_ids;
};

enum class Specials { keep, skip };

/// Text to ids, in the order of the fields: added tokens are found, what is left is normalised, split into words, and
/// each word is put together from the vocabulary. Equal to the `tokenizers` library (0.23) on every string.
struct Tokenizer {
  AddedTokenFinder raw_tokens;
  std::vector<NormalizerStep> normalizer;
  AddedTokenFinder normalized_tokens;
  std::vector<SplitStep> splits;
  std::variant<WordPiece, Bpe, Unigram, WordLevel> model;
  std::vector<std::int32_t> prefix;  ///< Ids put before every text ([CLS]).
  std::vector<std::int32_t> suffix;  ///< Ids put after every text ([SEP]).
  /// What a row of two texts is made of.
  std::vector<PairPiece> pair = {{.kind = PairPiece::Kind::first}, {.kind = PairPiece::Kind::second, .type_id = 1}};
  std::int64_t largest_id = -1;
  std::unordered_map<std::int32_t, std::string> tokens;  ///< By id.
  std::unordered_set<std::int32_t> special;              ///< Ids.
  std::optional<std::vector<DecoderStep>> decoder;       ///< Without one, tokens are joined by spaces.

  /// The ids of a text, its special tokens included. Throws a user error that begins with `name` where the bytes are
  /// not UTF-8. May be called from several threads at once.
  std::vector<std::int32_t> encode(std::string_view bytes, std::string_view name = "text") const;
  /// The same for two texts in one row.
  PairIds encode_pair(std::string_view first, std::string_view second, std::string_view name = "text") const;
  /// The text of the ids, valid UTF-8. Ids that no token has leave nothing.
  std::string decode(std::span<const std::int32_t> ids, Specials specials = Specials::skip) const;
  /// Largest id + 1: the rows that an embedding needs at least.
  std::int64_t vocabulary_size() const { return largest_id + 1; }
  TokenizerKind kind() const;
};

/// The text of ids that come one by one: holds back what is not yet a whole character. Together it is what decode()
/// says of all ids, but where later ids change what was told: a decoder that joins bytes replaces whole characters too
/// where a broken one stands beside them. An id takes a time that does not grow with those before it.
class TextStream {
 public:
  explicit TextStream(const Tokenizer& tokenizer, Specials specials = Specials::skip)
      : tokenizer_(tokenizer), specials_(specials) {}
  /// The text that is certain now, perhaps none.
  std::string add(std::int32_t id);
  /// What was held back, with U+FFFD for what never became a character.
  std::string finish();

 private:
  std::string text_of_ids();
  void forget_told();

  const Tokenizer& tokenizer_;
  Specials specials_;
  std::vector<std::int32_t> ids_;  ///< Those that the text of the next one may depend on.
  std::size_t told_ = 0;           ///< The first so many of them were told.
  std::string prefix_;             ///< What was told of these.
};

/// The tokenizer of a checkpoint: a GGUF file, a tokenizer.json, or a folder with tokenizer.json, else vocab.json and
/// merges.txt, else vocab.txt; the latter two look into tokenizer_config.json. Throws a user error that names the file
/// for what is missing, malformed, or not supported.
Tokenizer load_tokenizer(const std::filesystem::path& path);

/// The tokenizer in the text of a tokenizer.json; `name` is the file in errors. Its truncation and padding are
/// ignored. Throws a user error for what is malformed or not supported.
Tokenizer parse_tokenizer_json(std::string_view text, const std::string& name);

}  // namespace assay
