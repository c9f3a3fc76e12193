#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "text/added_tokens.h"
#include "text/bpe.h"
#include "text/normalizer.h"
#include "text/splitter.h"
#include "text/wordpiece.h"

namespace assay {

enum class TokenizerKind { wordpiece, byte_level_bpe };

/// "wordpiece" or "byte-level bpe".
const char* name_of(TokenizerKind kind);

/// Text to ids, in the order of the fields: added tokens are found, what is left is normalised, split into words, and
/// each word is put together from the vocabulary. Equal to the `tokenizers` library (0.23) on every string.
struct Tokenizer {
  AddedTokenFinder raw_tokens;
  std::vector<NormalizerStep> normalizer;
  AddedTokenFinder normalized_tokens;
  std::vector<SplitStep> splits;
  std::variant<WordPiece, Bpe> model;
  std::vector<std::int32_t> prefix;  ///< Ids put before every text ([CLS]).
  std::vector<std::int32_t> suffix;  ///< Ids put after every text ([SEP]).
  std::int64_t largest_id = -1;

  /// The ids of a text, its special tokens included. Throws a user error that begins with `name` where the bytes are
  /// not UTF-8. May be called from several threads at once.
  std::vector<std::int32_t> encode(std::string_view bytes, std::string_view name = "text") const;
  /// Largest id + 1: the rows that an embedding needs at least.
  std::int64_t vocabulary_size() const { return largest_id + 1; }
  TokenizerKind kind() const;
};

/// The tokenizer of a checkpoint: a GGUF file, a tokenizer.json, or a folder with tokenizer.json, else vocab.json and
/// merges.txt, else vocab.txt; the latter two look into tokenizer_config.json. Throws a user error that names the file
/// for what is missing, malformed, or not supported.
Tokenizer load_tokenizer(const std::filesystem::path& path);

/// The tokenizer in the text of a tokenizer.json; `name` is the file in errors. Its truncation, padding and decoder are
/// ignored. Throws a user error for what is malformed or not supported.
Tokenizer parse_tokenizer_json(std::string_view text, const std::string& name);

}  // namespace assay
