#include "text/tokenizer.h"

#include <algorithm>
#include <utility>

#include "text/unicode.h"
#include "text/word_cache.h"

namespace assay {
namespace {

/// One call of encode: what it has found so far.
class Encoding {
 public:
  explicit Encoding(const Tokenizer& tokenizer)
      : tokenizer_(tokenizer),
        asks_for_first_(std::any_of(tokenizer.splits.begin(), tokenizer.splits.end(), is_first)) {}

  void add_text(std::string_view text) {
    for (const Segment& segment : tokenizer_.raw_tokens.split(text)) {
      if (segment.id >= 0) {
        ids_.push_back(segment.id);
        continue;
      }
      const bool begins = segment.text.data() == text.data();
      const std::size_t first = begins && asks_for_first_ ? bytes_of_first(tokenizer_.normalizer, segment.text) : 0;
      if (tokenizer_.normalizer.empty()) {
        add_normalized(segment.text, first);
      } else {
        add_normalized(normalize(tokenizer_.normalizer, segment.text), first);
      }
    }
  }

  std::vector<std::int32_t> finish() { return std::move(ids_); }

 private:
  /// `first_bytes` here and below: as split() takes them.
  void add_normalized(std::string_view text, std::size_t first_bytes) {
    for (const Segment& segment : tokenizer_.normalized_tokens.split(text)) {
      if (segment.id >= 0) {
        ids_.push_back(segment.id);
      } else {
        const auto begin = static_cast<std::size_t>(segment.text.data() - text.data());
        add_split(segment.text, first_bytes_at(begin, first_bytes), 0);
      }
    }
  }

  /// Cuts the text by step `step` and each piece by the steps after it.
  void add_split(std::string_view text, std::size_t first_bytes, std::size_t step) {
    if (text.empty()) return;
    if (step == tokenizer_.splits.size()) return add_word(text);
    split(tokenizer_.splits[step], text, first_bytes,
          [this, step](std::string_view piece, std::size_t first) { add_split(piece, first, step + 1); });
  }

  void add_word(std::string_view word) {
    if (cache_.append(word, ids_)) return;
    const std::size_t before = ids_.size();
    std::visit([&](const auto& model) { append_word(model, word, ids_); }, tokenizer_.model);
    cache_.remember(word, std::span(ids_).subspan(before));
  }

  static bool is_first(const SplitStep& step) { return step.prefix == PrefixSpace::first; }

  const Tokenizer& tokenizer_;
  bool asks_for_first_;  ///< Whether a step asks where the text begins; else nobody looks.
  std::vector<std::int32_t> ids_;
  WordCache cache_;
};

/// The ids of a text without those put around it.
std::vector<std::int32_t> encode_plain(const Tokenizer& tokenizer, std::string_view bytes, std::string_view name) {
  unicode::check_utf8(bytes, name);
  Encoding encoding(tokenizer);
  encoding.add_text(bytes);
  return encoding.finish();
}

}  // namespace

const char* name_of(TokenizerKind kind) {
  switch (kind) {
    case TokenizerKind::wordpiece:
      return "wordpiece";
    case TokenizerKind::byte_level_bpe:
      return "byte-level bpe";
    case TokenizerKind::bpe:
      return "bpe";
    case TokenizerKind::unigram:
      return "unigram";
    case TokenizerKind::wordlevel:
      return "wordlevel";
  }
  return "";
}

std::vector<std::int32_t> Tokenizer::encode(std::string_view bytes, std::string_view name) const {
  const std::vector<std::int32_t> text = encode_plain(*this, bytes, name);
  std::vector<std::int32_t> ids;
  ids.reserve(prefix.size() + text.size() + suffix.size());
  for (const auto* part : {&prefix, &text, &suffix}) ids.insert(ids.end(), part->begin(), part->end());
  return ids;
}

PairIds Tokenizer::encode_pair(std::string_view first, std::string_view second, std::string_view name) const {
  const std::vector<std::int32_t> texts[] = {encode_plain(*this, first, name), encode_plain(*this, second, name)};
  PairIds row;
  for (const PairPiece& piece : pair) {
    const bool special_piece = piece.kind == PairPiece::Kind::special;
    const auto& ids = special_piece ? piece.ids : texts[piece.kind == PairPiece::Kind::first ? 0 : 1];
    row.ids.insert(row.ids.end(), ids.begin(), ids.end());
    row.type_ids.insert(row.type_ids.end(), ids.size(), piece.type_id);
  }
  return row;
}

std::string Tokenizer::decode(std::span<const std::int32_t> ids, Specials specials) const {
  std::vector<std::string> parts;
  parts.reserve(ids.size());
  for (const std::int32_t id : ids) {
    const auto token = tokens.find(id);
    if (token == tokens.end() || (specials == Specials::skip && special.contains(id))) continue;
    parts.push_back(token->second);
  }
  if (decoder) return decode_tokens(*decoder, std::move(parts));
  for (std::size_t i = 1; i < parts.size(); ++i) parts[i].insert(0, " ");
  return decode_tokens({}, std::move(parts));
}

namespace {

constexpr std::string_view replacement_character = "\uFFFD";

/// What has begun as a character and never ended is held back for so many ids; a character has four bytes at most.
constexpr std::size_t most_held = 16;

/// Bytes that later ones change no more: of what is broken, only the last may still become a character.
std::size_t certain_bytes(std::string_view text) {
  return text.size() - (text.ends_with(replacement_character) ? replacement_character.size() : 0);
}

}  // namespace

/// The text of the ids, which what was told of them begins. Where a decoder judges their bytes otherwise now that more
/// came, what was told stands, and the text is that of those behind.
std::string TextStream::text_of_ids() {
  std::string text = tokenizer_.decode(ids_, specials_);
  if (text.starts_with(prefix_)) return text;
  forget_told();
  prefix_.clear();
  return tokenizer_.decode(ids_, specials_);
}

void TextStream::forget_told() {
  ids_.erase(ids_.begin(), ids_.begin() + static_cast<std::ptrdiff_t>(told_));
  told_ = 0;
}

std::string TextStream::add(std::int32_t id) {
  const bool is_skipped = specials_ == Specials::skip && tokenizer_.special.contains(id);
  if (is_skipped || !tokenizer_.tokens.contains(id)) return {};
  ids_.push_back(id);
  const std::string text = text_of_ids();
  const std::size_t certain = certain_bytes(text);
  const bool says_all = certain == text.size() && certain > prefix_.size();
  if (!says_all && ids_.size() - told_ < most_held) return {};
  std::string told = certain > prefix_.size() ? text.substr(prefix_.size(), certain - prefix_.size()) : "";
  forget_told();
  told_ = ids_.size();
  prefix_ = tokenizer_.decode(ids_, specials_);
  if (!says_all) prefix_.resize(certain_bytes(prefix_));
  return told;
}

std::string TextStream::finish() {
  const std::string text = text_of_ids();
  std::string rest = text.substr(prefix_.size());
  ids_.clear();
  told_ = 0;
  prefix_.clear();
  return rest;
}

TokenizerKind Tokenizer::kind() const {
  constexpr TokenizerKind kinds[] = {TokenizerKind::wordpiece, TokenizerKind::bpe, TokenizerKind::unigram,
                                     TokenizerKind::wordlevel};
  const Bpe* const bpe = std::get_if<Bpe>(&model);
  return bpe != nullptr && !bpe->characters ? TokenizerKind::byte_level_bpe : kinds[model.index()];
}

}  // namespace assay
