#include "text/wordpiece.h"

#include <algorithm>

namespace assay {
namespace {

bool is_character_start(std::string_view text, std::size_t at) {
  return at >= text.size() || (static_cast<unsigned char>(text[at]) & 0xC0) != 0x80;
}

std::size_t count_characters(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

/// The longest prefix of `text` that is a token: its id, and its length in `length`; -1 where there is none.
std::int32_t longest_token(const Vocabulary& tokens, std::size_t longest, std::string_view text, std::size_t& length) {
  for (length = std::min(longest, text.size()); length > 0; --length) {
    if (!is_character_start(text, length)) continue;
    const std::int32_t id = find_id(tokens, text.substr(0, length));
    if (id >= 0) return id;
  }
  return -1;
}

std::size_t longest_key(const Vocabulary& tokens) {
  std::size_t longest = 0;
  for (const auto& [token, id] : tokens) longest = std::max(longest, token.size());
  return longest;
}

}  // namespace

WordPiece make_wordpiece(Vocabulary vocabulary, const std::string& unknown_token, const std::string& prefix) {
  WordPiece model;
  model.unknown = find_id(vocabulary, unknown_token);
  for (const auto& [token, id] : vocabulary) {
    if (token.starts_with(prefix)) model.continuing.emplace(token.substr(prefix.size()), id);
  }
  model.starts = std::move(vocabulary);
  model.longest_start = longest_key(model.starts);
  model.longest_continuing = longest_key(model.continuing);
  return model;
}

void append_word(const WordPiece& model, std::string_view word, std::vector<std::int32_t>& ids) {
  const std::size_t ids_before = ids.size();
  bool whole = count_characters(word) <= model.most_characters;
  for (std::size_t at = 0; whole && at < word.size();) {
    std::size_t length = 0;
    const std::string_view rest = word.substr(at);
    const std::int32_t id = at == 0 ? longest_token(model.starts, model.longest_start, rest, length)
                                    : longest_token(model.continuing, model.longest_continuing, rest, length);
    whole = id >= 0;
    ids.push_back(id);
    at += length;
  }
  if (whole) return;
  ids.resize(ids_before);
  ids.push_back(model.unknown);
}

}  // namespace assay
