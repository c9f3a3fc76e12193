#include <algorithm>

#include "base/error.h"
#include "base/json.h"
#include "base/printable.h"
#include "text/tokenizer_parts.h"

namespace assay {
namespace {

/// Files of early versions of the library name no type; the fields tell.
std::string model_type(const Json& model, const std::string& name) {
  const std::string type = text(model, "type", "", name);
  if (!type.empty()) return type;
  if (model.contains("merges")) return "BPE";
  if (model.contains("max_input_chars_per_word")) return "WordPiece";
  fail_user("{}: the model has no 'type'", name);
}

WordPiece read_wordpiece(const Json& model, Vocabulary vocabulary, const std::string& name) {
  const std::string unknown = text(model, "unk_token", "[UNK]", name);
  if (find_id(vocabulary, unknown) < 0)
    fail_user("{}: the vocabulary lacks the unk_token '{}'", name, printable(unknown));
  const std::string prefix = text(model, "continuing_subword_prefix", "##", name);
  WordPiece made = make_wordpiece(std::move(vocabulary), unknown, prefix);
  made.most_characters = static_cast<std::size_t>(integer(model, "max_input_chars_per_word", 100, name));
  return made;
}

std::vector<std::pair<std::string, std::string>> read_merges(const Json& list, const std::string& name) {
  if (!list.is_array()) fail_user("{}: the model has no list 'merges'", name);
  std::vector<std::pair<std::string, std::string>> merges;
  for (const Json& entry : list) {
    const std::string place = fmt::format("{}: merge {}", name, merges.size() + 1);
    if (entry.is_array() && entry.size() == 2 && entry[0].is_string() && entry[1].is_string()) {
      merges.emplace_back(entry[0].get<std::string>(), entry[1].get<std::string>());
    } else if (entry.is_string()) {
      const std::string line = entry.get<std::string>();
      if (!line.starts_with("#version")) merges.push_back(read_merge(line, place));
    } else {
      fail_user("{}: is neither two strings nor one", place);
    }
  }
  return merges;
}

/// Refuses what makes ids random.
void check_dropout(const Json& model, const std::string& name) {
  const Json& dropout = member(model, "dropout", name);
  if (!dropout.is_null() && dropout != 0) fail_user("{}: a BPE model with dropout is not supported", name);
}

std::int32_t need_unknown(const Vocabulary& vocabulary, const std::string& unknown, const std::string& name) {
  const std::int32_t id = find_id(vocabulary, unknown);
  if (id < 0) fail_user("{}: the vocabulary lacks the unk_token '{}'", name, printable(unknown));
  return id;
}

CharacterUnits read_units(const Json& model, const Vocabulary& vocabulary, const std::string& name) {
  CharacterUnits units{.vocabulary = vocabulary};
  units.prefix = text(model, "continuing_subword_prefix", "", name);
  units.suffix = text(model, "end_of_word_suffix", "", name);
  units.fuse_unknown = flag(model, "fuse_unk", false, name);
  if (flag(model, "byte_fallback", false, name)) units.byte_tokens = find_byte_tokens(vocabulary);
  const std::string unknown = text(model, "unk_token", "", name);
  if (!unknown.empty()) units.unknown = need_unknown(vocabulary, unknown, name);
  return units;
}

/// Byte-level vocabularies with all letters know no unknown text; others go by characters only where that is the same.
void fit_to_bytes(Bpe& made, const CharacterUnits& units, const std::string& name) {
  const bool whole = std::find(made.byte_ids.begin(), made.byte_ids.end(), -1) == made.byte_ids.end();
  if (!units.prefix.empty() || !units.suffix.empty()) {
    fail_user("{}: a BPE model of bytes with continuing_subword_prefix or end_of_word_suffix is not supported", name);
  }
  if (!whole && (units.fuse_unknown || units.byte_tokens)) {
    fail_user("{}: a BPE model with fuse_unk or byte_fallback whose vocabulary lacks bytes is not supported", name);
  }
  std::replace(made.byte_ids.begin(), made.byte_ids.end(), -1, units.unknown);
}

enum class Alphabet { bytes, characters };

/// Words that are tokens are not put together.
void ignore_merges(Bpe& made, const Vocabulary& vocabulary, Alphabet alphabet) {
  std::string bytes;
  for (const auto& [token, id] : vocabulary) {
    if (alphabet == Alphabet::characters)
      made.whole_words.emplace(token, id);
    else if (token_bytes(token, bytes))
      made.whole_words.emplace(bytes, id);
  }
}

Bpe read_bpe(const Json& model, const Vocabulary& vocabulary, Alphabet alphabet, const std::string& name) {
  check_dropout(model, name);
  CharacterUnits units = read_units(model, vocabulary, name);
  Bpe made = make_bpe(vocabulary, read_merges(member(model, "merges", name), name), name, units.prefix);
  if (alphabet == Alphabet::bytes)
    fit_to_bytes(made, units, name);
  else
    made.characters = std::move(units);
  if (flag(model, "ignore_merges", false, name)) ignore_merges(made, vocabulary, alphabet);
  return made;
}

std::vector<std::pair<std::string, double>> read_scored_tokens(const Json& list, const std::string& name) {
  if (!list.is_array()) fail_user("{}: the vocabulary is not a list of tokens and scores", name);
  std::vector<std::pair<std::string, double>> tokens;
  tokens.reserve(list.size());
  for (const Json& entry : list) {
    const bool pair = entry.is_array() && entry.size() == 2 && entry[0].is_string() && entry[1].is_number();
    if (!pair) fail_user("{}: token {} of the vocabulary is not [token, score]", name, tokens.size());
    tokens.emplace_back(entry[0].get<std::string>(), entry[1].get<double>());
  }
  return tokens;
}

Unigram read_unigram(const Json& model, const std::string& name) {
  Unigram made = make_unigram(read_scored_tokens(member(model, "vocab", name), name));
  const std::int64_t unknown = integer(model, "unk_id", -1, name);
  const auto size = static_cast<std::int64_t>(made.scores.size());
  if (unknown >= size) fail_user("{}: the unk_id is {} of {} tokens", name, unknown, size);
  made.unknown = static_cast<std::int32_t>(unknown);
  if (!flag(model, "byte_fallback", false, name)) made.byte_tokens.reset();
  return made;
}

WordLevel read_wordlevel(const Json& model, Vocabulary vocabulary, const std::string& name) {
  const std::int32_t unknown = need_unknown(vocabulary, text(model, "unk_token", "<unk>", name), name);
  return {std::move(vocabulary), unknown};
}

/// Sets the model; returns its vocabulary.
Vocabulary read_model(Tokenizer& tokenizer, const Json& model, Alphabet alphabet, const std::string& name) {
  const std::string type = model_type(model, name);
  if (type == "Unigram") {
    Unigram made = read_unigram(model, name);
    Vocabulary vocabulary = made.vocabulary;
    tokenizer.model = std::move(made);
    return vocabulary;
  }
  const bool known = type == "BPE" || type == "WordPiece" || type == "WordLevel";
  if (!known) fail_user("{}: the model '{}' is not supported", name, printable(type));
  Vocabulary vocabulary = read_vocabulary(member(model, "vocab", name), name);
  if (type == "BPE") tokenizer.model = read_bpe(model, vocabulary, alphabet, name);
  if (type == "WordPiece") tokenizer.model = read_wordpiece(model, vocabulary, name);
  if (type == "WordLevel") tokenizer.model = read_wordlevel(model, vocabulary, name);
  return vocabulary;
}

/// Refuses combinations whose ids are not known to be the library's.
void check_combination(const Tokenizer& tokenizer, Alphabet alphabet, const std::string& name) {
  if (alphabet == Alphabet::bytes && !std::holds_alternative<Bpe>(tokenizer.model)) {
    fail_user("{}: the pre_tokenizer ByteLevel with another model than BPE is not supported", name);
  }
  const bool first = std::any_of(tokenizer.splits.begin(), tokenizer.splits.end(),
                                 [](const SplitStep& step) { return step.prefix == PrefixSpace::first; });
  if (first && !counts_the_first(tokenizer.normalizer)) {
    fail_user("{}: Metaspace with prepend_scheme first after a BertNormalizer that strips accents is not supported",
              name);
  }
}

std::vector<AddedToken> read_added_tokens(const Json& list, const std::string& name) {
  if (list.is_null()) return {};
  if (!list.is_array()) fail_user("{}: 'added_tokens' is not a list", name);
  std::vector<AddedToken> tokens;
  for (const Json& entry : list) tokens.push_back(read_added_token(entry, name));
  return tokens;
}

}  // namespace

Tokenizer parse_tokenizer_json(std::string_view content, const std::string& name) {
  const Json file = parse_json(content, name);
  const Json& model = member(file, "model", name);
  Tokenizer tokenizer;
  tokenizer.normalizer = read_normalizer(member(file, "normalizer", name), name);
  PreTokenizer pre_tokenizer = read_pre_tokenizer(member(file, "pre_tokenizer", name), name);
  const Alphabet alphabet = pre_tokenizer.byte_level ? Alphabet::bytes : Alphabet::characters;
  tokenizer.splits = std::move(pre_tokenizer.splits);
  const Vocabulary vocabulary = read_model(tokenizer, model, alphabet, name);
  check_combination(tokenizer, alphabet, name);
  cut_at_marks(tokenizer);
  tokenizer.decoder = read_decoder(member(file, "decoder", name), name);
  add_tokens(tokenizer, vocabulary, read_added_tokens(member(file, "added_tokens", name), name), name);
  read_post_processor(tokenizer, member(file, "post_processor", name), name);
  return tokenizer;
}

}  // namespace assay
