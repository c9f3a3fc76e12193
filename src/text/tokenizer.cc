#include "text/tokenizer.h"

#include "text/unicode.h"
#include "text/word_cache.h"

namespace assay {
namespace {

/// One call of encode: what it has found so far.
class Encoding {
 public:
  explicit Encoding(const Tokenizer& tokenizer) : tokenizer_(tokenizer), ids_(tokenizer.prefix) {}

  void add_text(std::string_view text) {
    for (const Segment& segment : tokenizer_.raw_tokens.split(text)) {
      if (segment.id >= 0) {
        ids_.push_back(segment.id);
      } else if (tokenizer_.normalizer.empty()) {
        add_normalized(segment.text);
      } else {
        add_normalized(normalize(tokenizer_.normalizer, segment.text));
      }
    }
  }

  std::vector<std::int32_t> finish() {
    ids_.insert(ids_.end(), tokenizer_.suffix.begin(), tokenizer_.suffix.end());
    return std::move(ids_);
  }

 private:
  void add_normalized(std::string_view text) {
    for (const Segment& segment : tokenizer_.normalized_tokens.split(text)) {
      if (segment.id >= 0) {
        ids_.push_back(segment.id);
      } else {
        add_split(segment.text, 0);
      }
    }
  }

  /// Cuts the text by step `step` and each piece by the steps after it.
  void add_split(std::string_view text, std::size_t step) {
    if (step == tokenizer_.splits.size()) return add_word(text);
    const auto [splitter, add_prefix_space] = tokenizer_.splits[step];
    std::string prefixed;
    if (add_prefix_space && !text.starts_with(' ')) text = prefixed.append(" ").append(text);
    std::string_view piece;
    for (std::size_t at = 0; next_piece(splitter, text, at, piece);) add_split(piece, step + 1);
  }

  void add_word(std::string_view word) {
    if (cache_.append(word, ids_)) return;
    const std::size_t before = ids_.size();
    std::visit([&](const auto& model) { append_word(model, word, ids_); }, tokenizer_.model);
    cache_.remember(word, std::span(ids_).subspan(before));
  }

  const Tokenizer& tokenizer_;
  std::vector<std::int32_t> ids_;
  WordCache cache_;
};

}  // namespace

const char* name_of(TokenizerKind kind) {
  return kind == TokenizerKind::wordpiece ? "wordpiece" : "byte-level bpe";
}

std::vector<std::int32_t> Tokenizer::encode(std::string_view bytes, std::string_view name) const {
  unicode::check_utf8(bytes, name);
  Encoding encoding(*this);
  encoding.add_text(bytes);
  return encoding.finish();
}

TokenizerKind Tokenizer::kind() const {
  return std::holds_alternative<WordPiece>(model) ? TokenizerKind::wordpiece : TokenizerKind::byte_level_bpe;
}

}  // namespace assay
