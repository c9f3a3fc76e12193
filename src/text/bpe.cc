#include "text/bpe.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>
#include <map>

#include "base/error.h"
#include "base/printable.h"
#include "text/splitter.h"
#include "text/unicode.h"

namespace assay {
namespace {

/// Up to so many bytes looking at every pair again and again is faster than book-keeping.
constexpr std::size_t short_word = 32;

/// Merges the tokens ids[begin], ... to the end, short_word of them at most, in place.
void merge_short(const MergeTable& merges, std::vector<std::int32_t>& ids, std::size_t begin) {
  std::array<Merge, short_word> pairs;  // pairs[i] joins the tokens i and i + 1
  std::int32_t* const tokens = ids.data() + begin;
  std::size_t count = ids.size() - begin;
  const auto look = [&](std::size_t i) { pairs[i] = merges.find(tokens[i], tokens[i + 1]); };
  const auto earlier = [](const Merge& a, const Merge& b) {
    return static_cast<std::uint32_t>(a.rank) < static_cast<std::uint32_t>(b.rank);  // -1, no merge, comes last
  };
  for (std::size_t i = 0; i + 1 < count; ++i) look(i);
  while (count > 1) {
    const auto best =
        static_cast<std::size_t>(std::min_element(pairs.begin(), pairs.begin() + count - 1, earlier) - pairs.begin());
    if (pairs[best].rank < 0) break;
    tokens[best] = pairs[best].id;
    std::copy(tokens + best + 2, tokens + count, tokens + best + 1);
    std::copy(pairs.begin() + best + 1, pairs.begin() + count - 1, pairs.begin() + best);
    --count;
    if (best > 0) look(best - 1);
    if (best + 1 < count) look(best);
  }
  ids.resize(begin + count);
}

/// A token of a long word, linked to its neighbours by position; -1 ends the chain. A token that was merged into the
/// one before it has id -1.
struct Symbol {
  std::int32_t id;
  std::int32_t previous;
  std::int32_t next;
};

/// Places of one rank, taken from left to right. Those known when the first is taken are sorted once, which memory
/// likes better than a heap of all; a heap takes the few that come later.
class Places {
 public:
  void add(std::int32_t position) {
    if (!opened_) return first_.push_back(position);
    late_.push_back(position);
    std::push_heap(late_.begin(), late_.end(), std::greater<>());
  }

  bool empty() const { return next_ == first_.size() && late_.empty(); }

  /// The leftmost place; there must be one.
  std::int32_t take() {
    if (!opened_ && !std::is_sorted(first_.begin(), first_.end())) std::sort(first_.begin(), first_.end());
    opened_ = true;
    if (late_.empty() || (next_ < first_.size() && first_[next_] <= late_.front())) return first_[next_++];
    std::pop_heap(late_.begin(), late_.end(), std::greater<>());
    const std::int32_t position = late_.back();
    late_.pop_back();
    return position;
  }

 private:
  std::vector<std::int32_t> first_;
  std::size_t next_ = 0;
  std::vector<std::int32_t> late_;
  bool opened_ = false;
};

/// A long word while it is put together. The places where a merge may apply are kept by rank.
class LongWord {
 public:
  LongWord(const MergeTable& merges, const std::int32_t* ids, std::size_t count) : merges_(merges) {
    symbols_.reserve(count);
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(count); ++i) symbols_.push_back({ids[i], i - 1, i + 1});
    symbols_.back().next = -1;
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(count); ++i) add_place(i);
  }

  /// Always the lowest rank that has a place, even one that the last merge has made possible.
  void merge_all() {
    while (!places_.empty()) {
      const auto lowest = places_.begin();
      if (lowest->second.empty()) {
        places_.erase(lowest);
        continue;
      }
      const std::int32_t position = lowest->second.take();
      const Merge merge = merge_at(position);
      // A place outlives its pair when one of the two was merged otherwise meanwhile.
      if (merge.rank == lowest->first) join(position, merge.id);
    }
  }

  void append_to(std::vector<std::int32_t>& ids) const {
    for (std::int32_t at = 0; at >= 0; at = symbols_[at].next) ids.push_back(symbols_[at].id);
  }

 private:
  Merge merge_at(std::int32_t position) const {
    const Symbol& left = symbols_[position];
    return left.id < 0 || left.next < 0 ? Merge{} : merges_.find(left.id, symbols_[left.next].id);
  }

  void add_place(std::int32_t position) {
    if (position < 0) return;
    const Merge merge = merge_at(position);
    if (merge.rank >= 0) places_[merge.rank].add(position);
  }

  void join(std::int32_t position, std::int32_t id) {
    Symbol& left = symbols_[position];
    Symbol& right = symbols_[left.next];
    left.id = id;
    left.next = right.next;
    right.id = -1;
    if (left.next >= 0) symbols_[left.next].previous = position;
    add_place(left.previous);
    add_place(position);
  }

  const MergeTable& merges_;
  std::vector<Symbol> symbols_;
  std::map<std::int32_t, Places> places_;  ///< By rank.
};

/// GPT-2's rule: printable Latin-1 stands for itself, every other byte for the next code point from U+0100 on.
std::array<std::string, 256> make_byte_letters() {
  std::array<std::string, 256> letters;
  char32_t other = 0x100;
  for (char32_t byte = 0; byte < 256; ++byte) {
    const bool printable = (byte >= 33 && byte <= 126) || (byte >= 161 && byte != 173);
    unicode::append_utf8(printable ? byte : other++, letters[byte]);
  }
  return letters;
}

std::int32_t merge_token(const Vocabulary& vocabulary, const std::string& token, const std::string& name,
                         std::size_t rank) {
  const std::int32_t id = find_id(vocabulary, token);
  if (id < 0)
    fail_user("{}: merge {} needs the token '{}', which the vocabulary lacks", name, rank + 1, printable(token));
  return id;
}

/// The text of one unit of a word as the vocabulary writes it.
std::string_view unit_text(const CharacterUnits& units, std::string_view word, std::size_t begin, std::size_t end,
                           std::string& made) {
  const std::string_view character = word.substr(begin, end - begin);
  if (units.prefix.empty() && units.suffix.empty()) return character;
  made = begin > 0 ? units.prefix : "";
  made += character;
  if (end == word.size()) made += units.suffix;
  return made;
}

/// The characters of a word. Unknown ones wait for the next known one (byte tokens overtake them, as in the library).
void append_units(const CharacterUnits& units, std::string_view word, std::vector<std::int32_t>& ids) {
  std::string made;
  bool waiting = false;
  for (std::size_t at = 0, end = 0; at < word.size(); at = end) {
    unicode::next_code_point(word, end);
    const std::string_view unit = unit_text(units, word, at, end, made);
    const std::int32_t id = find_id(units.vocabulary, unit);
    if (id < 0 && units.byte_tokens && append_bytes(*units.byte_tokens, unit, ids)) continue;
    if (id < 0 && units.unknown < 0) continue;
    if (waiting && (id >= 0 || !units.fuse_unknown)) ids.push_back(units.unknown);
    waiting = id < 0;
    if (id >= 0) ids.push_back(id);
  }
  if (waiting) ids.push_back(units.unknown);
}

/// Whether a space mark stands behind another character.
bool has_inner_mark(std::string_view token) {
  std::size_t at = 0;
  while (token.substr(at).starts_with(space_mark)) at += space_mark.size();
  return token.find(space_mark, at) != std::string_view::npos;
}

/// A character that is no token could only be part of one by going round the table of merges.
void check_characters(const Vocabulary& vocabulary, std::string_view token, const std::string& name) {
  for (std::size_t at = 0, end = 0; at < token.size(); at = end) {
    unicode::next_code_point(token, end);
    if (find_id(vocabulary, token.substr(at, end - at)) >= 0) continue;
    fail_user("{}: the token '{}' has the character '{}', which is no token", name, printable(token),
              printable(token.substr(at, end - at)));
  }
}

}  // namespace

ByteTokens find_byte_tokens(const Vocabulary& vocabulary) {
  ByteTokens tokens{};
  for (std::size_t byte = 0; byte < 256; ++byte) tokens[byte] = find_id(vocabulary, fmt::format("<0x{:02X}>", byte));
  return tokens;
}

bool append_bytes(const ByteTokens& tokens, std::string_view bytes, std::vector<std::int32_t>& ids) {
  const auto id_of = [&](char byte) { return tokens[static_cast<unsigned char>(byte)]; };
  if (std::any_of(bytes.begin(), bytes.end(), [&](char byte) { return id_of(byte) < 0; })) return false;
  for (const char byte : bytes) ids.push_back(id_of(byte));
  return true;
}

MergeTable::MergeTable(std::size_t merges) : slots_(std::bit_ceil(2 * merges + 2)) {}

std::size_t MergeTable::slot_of(std::uint64_t key) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = (key * 0x9E3779B97F4A7C15) >> 20 & mask;
  while (slots_[slot].key != key && slots_[slot].merge.rank >= 0) slot = (slot + 1) & mask;
  return slot;
}

void MergeTable::insert(std::int32_t left, std::int32_t right, Merge merge) {
  const std::uint64_t key = key_of(left, right);
  slots_[slot_of(key)] = {key, merge};
}

const std::array<std::string, 256>& byte_letters() {
  static const std::array<std::string, 256> letters = make_byte_letters();
  return letters;
}

bool token_bytes(std::string_view token, std::string& bytes) {
  static const StringMap<char> byte_of = [] {
    StringMap<char> map;
    for (std::size_t byte = 0; byte < 256; ++byte) map.emplace(byte_letters()[byte], static_cast<char>(byte));
    return map;
  }();
  bytes.clear();
  for (std::size_t at = 0; at < token.size();) {
    const std::size_t start = at;
    unicode::next_code_point(token, at);
    const auto found = byte_of.find(token.substr(start, at - start));
    if (found == byte_of.end()) return false;
    bytes += found->second;
  }
  return true;
}

Bpe make_bpe(const Vocabulary& vocabulary, const std::vector<std::pair<std::string, std::string>>& merges,
             const std::string& name, std::string_view prefix) {
  Bpe model;
  for (std::size_t byte = 0; byte < 256; ++byte) model.byte_ids[byte] = find_id(vocabulary, byte_letters()[byte]);
  model.merges = MergeTable(merges.size());
  for (std::size_t rank = 0; rank < merges.size(); ++rank) {
    const auto& [left, right] = merges[rank];
    const std::int32_t left_id = merge_token(vocabulary, left, name, rank);
    const std::int32_t right_id = merge_token(vocabulary, right, name, rank);
    const std::string joined = left + (right.starts_with(prefix) ? right.substr(prefix.size()) : right);
    const std::int32_t id = merge_token(vocabulary, joined, name, rank);
    model.joins_words = model.joins_words || has_inner_mark(joined);
    model.merges.insert(left_id, right_id, {static_cast<std::int32_t>(rank), id});
  }
  return model;
}

Bpe make_scored_bpe(const Vocabulary& vocabulary, const std::vector<double>& scores, const std::string& name) {
  std::vector<std::pair<double, const std::string*>> tokens;
  std::size_t pairs = 0;
  for (const auto& [token, id] : vocabulary) {
    tokens.emplace_back(-scores[static_cast<std::size_t>(id)], &token);
    pairs += token.size();
  }
  std::sort(tokens.begin(), tokens.end());
  Bpe model;
  model.characters = CharacterUnits{.vocabulary = vocabulary, .byte_tokens = find_byte_tokens(vocabulary)};
  model.merges = MergeTable(pairs);
  std::int32_t rank = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (i > 0 && tokens[i].first != tokens[i - 1].first) ++rank;  // Equal scores are one rank: the leftmost is first.
    const std::string_view token = *tokens[i].second;
    model.joins_words = model.joins_words || has_inner_mark(token);
    for (std::size_t at = 0; at < token.size();) {
      unicode::next_code_point(token, at);
      const std::int32_t left = find_id(vocabulary, token.substr(0, at));
      const std::int32_t right = find_id(vocabulary, token.substr(at));
      if (at < token.size() && left >= 0 && right >= 0) {
        model.merges.insert(left, right, {rank, find_id(vocabulary, token)});
      }
    }
  }
  for (const auto& [score, token] : tokens) check_characters(vocabulary, *token, name);
  return model;
}

bool may_cut_at_marks(const Bpe& model) {
  if (!model.characters || model.joins_words || !model.whole_words.empty()) return false;
  const CharacterUnits& units = *model.characters;
  return units.prefix.empty() && units.suffix.empty() && find_id(units.vocabulary, space_mark) >= 0;
}

void append_word(const Bpe& model, std::string_view word, std::vector<std::int32_t>& ids) {
  if (word.size() > std::size_t{std::numeric_limits<std::int32_t>::max()}) {
    fail_user("text: one word of {} bytes, at most 2^31 - 1 can be encoded", word.size());
  }
  if (!model.whole_words.empty()) {
    const auto found = model.whole_words.find(word);
    if (found != model.whole_words.end()) return ids.push_back(found->second);
  }
  const std::size_t begin = ids.size();
  if (model.characters) append_units(*model.characters, word, ids);
  for (const char byte : model.characters ? std::string_view() : word) {
    const std::int32_t id = model.byte_ids[static_cast<unsigned char>(byte)];
    if (id >= 0) ids.push_back(id);
  }
  if (ids.size() == begin) return;
  if (ids.size() - begin <= short_word) return merge_short(model.merges, ids, begin);
  LongWord built(model.merges, ids.data() + begin, ids.size() - begin);
  built.merge_all();
  ids.resize(begin);
  built.append_to(ids);
}

}  // namespace assay
