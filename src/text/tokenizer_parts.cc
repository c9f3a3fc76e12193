#include "text/tokenizer_parts.h"

#include <algorithm>
#include <limits>
#include <unordered_set>

#include "base/error.h"
#include "base/json.h"
#include "base/printable.h"

namespace assay {
namespace {

constexpr std::int64_t most_id = std::numeric_limits<std::int32_t>::max();

/// The id the library gives to a token that the vocabulary lacks.
std::int64_t next_id(const Vocabulary& vocabulary, std::int64_t largest_added) {
  return std::max(static_cast<std::int64_t>(vocabulary.size()), largest_added + 1);
}

void assign_ids(std::vector<AddedToken>& tokens, const Vocabulary& vocabulary, const std::string& name) {
  std::int64_t largest_added = -1;
  std::unordered_set<std::string> seen;
  for (AddedToken& token : tokens) {
    if (!seen.insert(token.content).second)
      fail_user("{}: the added token '{}' stands twice", name, printable(token.content));
    std::int64_t id = find_id(vocabulary, token.content);
    if (id < 0) id = next_id(vocabulary, largest_added);
    if (token.id >= 0 && token.id != id) {
      fail_user("{}: the added token '{}' has id {}, by the vocabulary it must be {}", name, printable(token.content),
                token.id, id);
    }
    if (id >= most_id) fail_user("{}: no id is left for the added token '{}'", name, printable(token.content));
    token.id = static_cast<std::int32_t>(id);
    largest_added = std::max(largest_added, id);
  }
}

}  // namespace

void insert_token(Vocabulary& vocabulary, const std::string& token, std::int64_t id, const std::string& name) {
  if (id < 0 || id >= most_id) fail_user("{}: token '{}' has id {}, outside 0 to 2^31 - 2", name, printable(token), id);
  if (!vocabulary.emplace(token, static_cast<std::int32_t>(id)).second) {
    fail_user("{}: the token '{}' stands twice", name, printable(token));
  }
}

void check_distinct_ids(const Vocabulary& vocabulary, const std::string& name) {
  std::unordered_map<std::int32_t, const std::string*> owners;
  for (const auto& [token, id] : vocabulary) {
    const auto [owner, inserted] = owners.emplace(id, &token);
    if (!inserted)
      fail_user("{}: the tokens '{}' and '{}' share id {}", name, printable(*owner->second), printable(token), id);
  }
}

Vocabulary read_vocabulary(const Json& object, const std::string& name) {
  if (!object.is_object()) fail_user("{}: the vocabulary is not an object of tokens and ids", name);
  Vocabulary vocabulary;
  vocabulary.reserve(object.size());
  for (const auto& [token, id] : object.items()) {
    if (!id.is_number_integer()) fail_user("{}: the id of token '{}' is not a whole number", name, printable(token));
    insert_token(vocabulary, token,
                 id.is_number_unsigned() && id.get<std::uint64_t>() > most_id ? most_id : id.get<std::int64_t>(), name);
  }
  check_distinct_ids(vocabulary, name);
  return vocabulary;
}

void add_tokens(Tokenizer& tokenizer, const Vocabulary& vocabulary, std::vector<AddedToken> tokens,
                const std::string& name) {
  std::erase_if(tokens, [](const AddedToken& token) { return token.content.empty(); });
  assign_ids(tokens, vocabulary, name);
  for (const auto& [token, id] : vocabulary) {
    tokenizer.largest_id = std::max<std::int64_t>(tokenizer.largest_id, id);
    tokenizer.tokens.emplace(id, token);
  }
  std::stable_partition(tokens.begin(), tokens.end(), [](const AddedToken& token) { return token.special; });
  for (const AddedToken& token : tokens) {
    tokenizer.largest_id = std::max<std::int64_t>(tokenizer.largest_id, token.id);
    tokenizer.tokens.insert_or_assign(token.id, token.content);
    if (token.special) tokenizer.special.insert(token.id);
    const std::string pattern = token.normalized ? normalize(tokenizer.normalizer, token.content) : token.content;
    if (pattern.empty()) fail_user("{}: the added token '{}' normalises to nothing", name, printable(token.content));
    (token.normalized ? tokenizer.normalized_tokens : tokenizer.raw_tokens).add(pattern, token);
  }
}

void cut_at_marks(Tokenizer& tokenizer) {
  const Bpe* const model = std::get_if<Bpe>(&tokenizer.model);
  if (model != nullptr && may_cut_at_marks(*model)) tokenizer.splits.push_back({Splitter::marked_words});
}

std::pair<std::string, std::string> read_merge(const std::string& line, const std::string& place) {
  const std::size_t space = line.find(' ');
  if (space == std::string::npos || line.find(' ', space + 1) != std::string::npos) {
    fail_user("{}: '{}' is not two tokens with one space between", place, printable(line));
  }
  return {line.substr(0, space), line.substr(space + 1)};
}

const Json& member(const Json& object, const char* key, const std::string& name) {
  static const Json none;
  if (!object.is_object()) fail_user("{}: an object with '{}' is needed, this is {}", name, key, object.type_name());
  const auto found = object.find(key);
  return found == object.end() ? none : *found;
}

bool flag(const Json& object, const char* key, bool fallback, const std::string& name) {
  const Json& value = member(object, key, name);
  if (value.is_null()) return fallback;
  if (!value.is_boolean()) fail_user("{}: '{}' is neither true nor false", name, key);
  return value.get<bool>();
}

std::string text(const Json& object, const char* key, const std::string& fallback, const std::string& name) {
  const Json& value = member(object, key, name);
  if (value.is_null()) return fallback;
  if (!value.is_string()) fail_user("{}: '{}' is not a string", name, key);
  return value.get<std::string>();
}

std::int64_t integer(const Json& object, const char* key, std::int64_t fallback, const std::string& name) {
  const Json& value = member(object, key, name);
  if (value.is_null()) return fallback;
  const bool fits = value.is_number_integer() && (!value.is_number_unsigned() || value.get<std::uint64_t>() <= most_id);
  if (!fits || value.get<std::int64_t>() < 0) fail_user("{}: '{}' is not a whole number from 0 to 2^31 - 1", name, key);
  return value.get<std::int64_t>();
}

AddedToken read_added_token(const Json& object, const std::string& name) {
  if (!member(object, "content", name).is_string()) fail_user("{}: an added token has no 'content'", name);
  AddedToken token;
  token.content = text(object, "content", "", name);
  token.id = static_cast<std::int32_t>(integer(object, "id", -1, name));
  token.single_word = flag(object, "single_word", false, name);
  token.lstrip = flag(object, "lstrip", false, name);
  token.rstrip = flag(object, "rstrip", false, name);
  token.special = flag(object, "special", false, name);
  token.normalized = flag(object, "normalized", !token.special, name);
  return token;
}

}  // namespace assay
