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

/// Refuses what would change ids and is not done here.
void check_bpe_options(const Json& model, const std::string& name) {
  const Json& dropout = member(model, "dropout", name);
  if (!dropout.is_null() && dropout != 0) fail_user("{}: a BPE model with dropout is not supported", name);
  for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    if (!text(model, key, "", name).empty()) fail_user("{}: a BPE model with '{}' is not supported", name, key);
  }
  for (const char* key : {"fuse_unk", "byte_fallback"}) {
    if (flag(model, key, false, name)) fail_user("{}: a BPE model with '{}' is not supported", name, key);
  }
}

Bpe read_bpe(const Json& model, const Vocabulary& vocabulary, const std::string& name) {
  check_bpe_options(model, name);
  Bpe made = make_bpe(vocabulary, read_merges(member(model, "merges", name), name), name);
  const std::string unknown = text(model, "unk_token", "", name);
  if (!unknown.empty()) {
    const std::int32_t id = find_id(vocabulary, unknown);
    for (std::int32_t& byte_id : made.byte_ids) {
      if (byte_id < 0) byte_id = id;
    }
    if (id < 0) fail_user("{}: the vocabulary lacks the unk_token '{}'", name, printable(unknown));
  }
  if (!flag(model, "ignore_merges", false, name)) return made;
  std::string bytes;
  for (const auto& [token, id] : vocabulary) {
    if (token_bytes(token, bytes)) made.whole_words.emplace(bytes, id);
  }
  return made;
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
  const std::string type = model_type(model, name);
  const bool byte_level = type == "BPE";
  if (type != "WordPiece" && type != "BPE") fail_user("{}: the model '{}' is not supported", name, printable(type));
  const Vocabulary vocabulary = read_vocabulary(member(model, "vocab", name), name);

  Tokenizer tokenizer;
  if (byte_level) tokenizer.model = read_bpe(model, vocabulary, name);
  if (!byte_level) tokenizer.model = read_wordpiece(model, vocabulary, name);
  tokenizer.normalizer = read_normalizer(member(file, "normalizer", name), name);
  PreTokenizer pre_tokenizer = read_pre_tokenizer(member(file, "pre_tokenizer", name), name);
  if (byte_level != pre_tokenizer.byte_level) {
    fail_user("{}: a {} model {} ByteLevel is not supported", name, type, byte_level ? "without" : "with");
  }
  tokenizer.splits = std::move(pre_tokenizer.splits);
  add_tokens(tokenizer, vocabulary, read_added_tokens(member(file, "added_tokens", name), name), name);
  read_post_processor(tokenizer, member(file, "post_processor", name), name);
  return tokenizer;
}

}  // namespace assay
