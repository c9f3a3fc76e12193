#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json_fwd.h"
#include "formats/gguf.h"
#include "text/tokenizer.h"

/// What the readers of the tokenizer files share. `name` is the file in errors.
namespace assay {

/// Adds token -> id. Throws a user error for a token that is there already or an id outside [0, 2^31).
void insert_token(Vocabulary& vocabulary, const std::string& token, std::int64_t id, const std::string& name);

/// An object of token -> id. Throws a user error also where two tokens share an id.
Vocabulary read_vocabulary(const Json& object, const std::string& name);

/// Throws a user error where two tokens share an id.
void check_distinct_ids(const Vocabulary& vocabulary, const std::string& name);

/// Id that the `tokenizers` library gives to each added token: the vocabulary's, else the next free one. Throws a user
/// error where a token's own id (unless -1) is another one, where a token stands twice, or normalises to nothing.
/// Sets `largest_id` too. The normaliser must be set already.
void add_tokens(Tokenizer& tokenizer, const Vocabulary& vocabulary, std::vector<AddedToken> tokens,
                const std::string& name);

/// One line of merges: two tokens with one space between. `place` says which in errors.
std::pair<std::string, std::string> read_merge(const std::string& line, const std::string& place);

/// The part of a tokenizer.json that stands under "added_tokens" or, for one token, in tokenizer_config.json.
AddedToken read_added_token(const Json& object, const std::string& name);

/// The type of a part of a tokenizer.json; `what` names the part in the error where it has none.
std::string type_of(const Json& object, const char* what, const std::string& name);

/// Members of a Sequence, under the key that holds them.
const Json& parts_of(const Json& object, const char* key, const std::string& name);

/// The pattern of Split and Replace: {"Regex": ..} or {"String": ..}.
Expression read_pattern(const Json& object, const std::string& name);

/// Parts of a tokenizer.json; null gives none.
std::optional<std::vector<DecoderStep>> read_decoder(const Json& object, const std::string& name);
std::vector<NormalizerStep> read_normalizer(const Json& object, const std::string& name);

struct PreTokenizer {
  std::vector<SplitStep> splits;
  bool byte_level = false;  ///< Words are then encoded byte by byte.
};

/// The splits of one expression, by hand where that is known.
SplitStep split_step_of(const std::string& expression, const std::string& name);
PreTokenizer read_pre_tokenizer(const Json& object, const std::string& name);

/// Cuts texts before space marks too where that changes no ids: words are short then, and come again.
void cut_at_marks(Tokenizer& tokenizer);

/// Sets `prefix`, `suffix` and `pair`; the added tokens must be there already.
void read_post_processor(Tokenizer& tokenizer, const Json& object, const std::string& name);

/// The tokenizer of a GGUF file. Throws a user error where its pre-tokenizer is not supported.
Tokenizer load_gguf_tokenizer(const std::filesystem::path& path);
Tokenizer read_gguf_tokenizer(const Gguf& file);
/// What a file may call the way in which a byte-level vocabulary splits text (`tokenizer.ggml.pre`), each way once.
std::vector<std::string> gguf_pre_names();

/// The member of an object, or null where it is missing. Throws a user error where `object` is not an object.
const Json& member(const Json& object, const char* key, const std::string& name);
/// A member of the type asked for, or `fallback` where it is missing or null. Throws a user error for another type.
bool flag(const Json& object, const char* key, bool fallback, const std::string& name);
std::string text(const Json& object, const char* key, const std::string& fallback, const std::string& name);
std::int64_t integer(const Json& object, const char* key, std::int64_t fallback, const std::string& name);

}  // namespace assay
