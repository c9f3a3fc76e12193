#include "text/bpe.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "base/error.h"
#include "text/unicode.h"

namespace assay {
namespace {

/// A token of the word so far, linked to its neighbours by position; -1 ends the chain.
struct Symbol {
  std::int32_t id;
  std::int32_t previous;
  std::int32_t next;
};

/// A pair that can be merged: the symbol at `position` with the one after it.
struct Candidate {
  Merge merge;
  std::int32_t position;
};

/// Heap order: the lowest rank on top, of equal ones the leftmost.
bool comes_later(const Candidate& a, const Candidate& b) {
  return a.merge.rank != b.merge.rank ? a.merge.rank > b.merge.rank : a.position > b.position;
}

/// One word while it is put together.
class Word {
 public:
  Word(const Bpe& model, std::string_view bytes) : merges_(model.merges) {
    symbols_.reserve(bytes.size());
    for (const char byte : bytes) {
      const std::int32_t id = model.byte_ids[static_cast<unsigned char>(byte)];
      const auto position = static_cast<std::int32_t>(symbols_.size());
      if (id >= 0) symbols_.push_back({id, position - 1, position + 1});
    }
    if (!symbols_.empty()) symbols_.back().next = -1;
  }

  void merge_all() {
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(symbols_.size()); ++i) add_candidate(i);
    std::make_heap(heap_.begin(), heap_.end(), comes_later);
    heaped_ = true;
    while (!heap_.empty()) {
      std::pop_heap(heap_.begin(), heap_.end(), comes_later);
      const Candidate best = heap_.back();
      heap_.pop_back();
      if (is_current(best)) merge(best);
    }
  }

  void append_to(std::vector<std::int32_t>& ids) const {
    if (symbols_.empty()) return;
    for (std::int32_t at = 0; at >= 0; at = symbols_[at].next) ids.push_back(symbols_[at].id);
  }

 private:
  void add_candidate(std::int32_t position) {
    if (position < 0 || symbols_[position].next < 0) return;
    const Merge merge = merges_.find(symbols_[position].id, symbols_[symbols_[position].next].id);
    if (merge.rank < 0) return;
    heap_.push_back({merge, position});
    if (heaped_) std::push_heap(heap_.begin(), heap_.end(), comes_later);
  }

  /// A candidate outlives its pair when one of the two was merged with another symbol meanwhile.
  bool is_current(const Candidate& candidate) const {
    const Symbol& left = symbols_[candidate.position];
    if (left.id < 0 || left.next < 0) return false;
    return merges_.find(left.id, symbols_[left.next].id).id == candidate.merge.id;
  }

  void merge(const Candidate& candidate) {
    Symbol& left = symbols_[candidate.position];
    Symbol& right = symbols_[left.next];
    left.id = candidate.merge.id;
    left.next = right.next;
    right.id = -1;
    if (left.next >= 0) symbols_[left.next].previous = candidate.position;
    add_candidate(left.previous);
    add_candidate(candidate.position);
  }

  const MergeTable& merges_;
  std::vector<Symbol> symbols_;
  std::vector<Candidate> heap_;
  bool heaped_ = false;
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
  if (id < 0) fail_user("{}: merge {} needs the token '{}', which the vocabulary lacks", name, rank + 1, token);
  return id;
}

}  // namespace

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
             const std::string& name) {
  Bpe model;
  for (std::size_t byte = 0; byte < 256; ++byte) model.byte_ids[byte] = find_id(vocabulary, byte_letters()[byte]);
  model.merges = MergeTable(merges.size());
  for (std::size_t rank = 0; rank < merges.size(); ++rank) {
    const auto& [left, right] = merges[rank];
    const std::int32_t left_id = merge_token(vocabulary, left, name, rank);
    const std::int32_t right_id = merge_token(vocabulary, right, name, rank);
    const std::int32_t id = merge_token(vocabulary, left + right, name, rank);
    model.merges.insert(left_id, right_id, {static_cast<std::int32_t>(rank), id});
  }
  return model;
}

void append_word(const Bpe& model, std::string_view word, std::vector<std::int32_t>& ids) {
  if (word.size() > std::size_t{std::numeric_limits<std::int32_t>::max()}) {
    fail_user("text: one word of {} bytes, at most 2^31 - 1 can be encoded", word.size());
  }
  if (!model.whole_words.empty()) {
    const auto found = model.whole_words.find(word);
    if (found != model.whole_words.end()) return ids.push_back(found->second);
  }
  Word built(model, word);
  built.merge_all();
  built.append_to(ids);
}

}  // namespace assay
