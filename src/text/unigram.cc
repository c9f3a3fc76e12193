#include "text/unigram.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "text/unicode.h"

namespace assay {
namespace {

/// As sentencepiece has it: an unknown character costs so much more than the worst token.
constexpr double unknown_penalty = 10;

std::size_t count_edges(const Vocabulary& vocabulary) {
  std::vector<std::string_view> tokens;
  tokens.reserve(vocabulary.size());
  for (const auto& [token, id] : vocabulary) tokens.push_back(token);
  std::sort(tokens.begin(), tokens.end());
  std::size_t edges = 0;
  std::string_view before;
  for (const std::string_view token : tokens) {
    const auto differing = std::mismatch(token.begin(), token.end(), before.begin(), before.end()).first;
    edges += static_cast<std::size_t>(token.end() - differing);
    before = token;
  }
  return edges;
}

void add_to_trie(Unigram& model, std::string_view token, std::int32_t id) {
  std::int32_t node = 0;
  for (const char c : token) {
    const std::int32_t byte = static_cast<unsigned char>(c);
    const Merge child = model.children.find(node, byte);
    if (child.rank < 0) {
      const auto fresh = static_cast<std::int32_t>(model.token_at.size());
      model.children.insert(node, byte, {0, fresh});
      model.token_at.push_back(-1);
      node = fresh;
    } else {
      node = child.id;
    }
  }
  model.token_at[node] = id;
}

/// The best way to reach a place of the text.
struct Arrival {
  std::int32_t token = -1;
  std::size_t from = std::string_view::npos;
  double score = 0;

  void offer(std::int32_t id, std::size_t start, double total) {
    if (from == std::string_view::npos || total > score) *this = {id, start, total};
  }
};

std::vector<Arrival> best_arrivals(const Unigram& model, std::string_view word) {
  std::vector<Arrival> arrivals(word.size() + 1);
  for (std::size_t at = 0, next = 0; at < word.size(); at = next) {
    next = at;
    unicode::next_code_point(word, next);
    const double so_far = arrivals[at].score;
    bool single = false;
    std::int32_t node = 0;
    for (std::size_t end = at; end < word.size();) {
      const Merge child = model.children.find(node, static_cast<unsigned char>(word[end++]));
      if (child.rank < 0) break;
      node = child.id;
      const std::int32_t token = model.token_at[node];
      if (token < 0) continue;
      arrivals[end].offer(token, at, so_far + model.scores[token]);
      single = single || end == next;
    }
    if (single) continue;
    if (model.unknown < 0) fail_user("text: the tokenizer has no token for what it does not know");
    arrivals[next].offer(model.unknown, at, so_far + model.unknown_score);
  }
  return arrivals;
}

/// A stretch of the text that is one token, or unknown.
void append_stretch(const Unigram& model, std::string_view text, std::vector<std::int32_t>& ids) {
  const std::int32_t id = find_id(model.vocabulary, text);
  if (id >= 0) return ids.push_back(id);
  if (model.byte_tokens && append_bytes(*model.byte_tokens, text, ids)) return;
  ids.push_back(model.unknown);
}

}  // namespace

Unigram make_unigram(const std::vector<std::pair<std::string, double>>& tokens) {
  Unigram model;
  double least = std::numeric_limits<double>::max();
  model.scores.reserve(tokens.size());
  for (const auto& [token, score] : tokens) {
    model.vocabulary[token] = static_cast<std::int32_t>(model.scores.size());
    model.scores.push_back(score);
    least = std::min(least, score);
  }
  model.unknown_score = least - unknown_penalty;
  model.children = MergeTable(count_edges(model.vocabulary));
  model.token_at = {-1};
  for (const auto& [token, id] : model.vocabulary) {
    if (!token.empty()) add_to_trie(model, token, id);
  }
  model.byte_tokens = find_byte_tokens(model.vocabulary);
  return model;
}

void append_word(const Unigram& model, std::string_view word, std::vector<std::int32_t>& ids) {
  const std::vector<Arrival> arrivals = best_arrivals(model, word);
  std::vector<std::string_view> stretches;
  bool unknown_after = false;
  for (std::size_t end = word.size(); end > 0; end = arrivals[end].from) {
    const Arrival& arrival = arrivals[end];
    const bool unknown = arrival.token == model.unknown && model.unknown >= 0;
    std::size_t stop = end;
    if (unknown && unknown_after) {
      stop = static_cast<std::size_t>(stretches.back().data() - word.data()) + stretches.back().size();
      stretches.pop_back();
    }
    stretches.push_back(word.substr(arrival.from, stop - arrival.from));
    unknown_after = unknown;
  }
  for (auto stretch = stretches.rbegin(); stretch != stretches.rend(); ++stretch) append_stretch(model, *stretch, ids);
}

}  // namespace assay
