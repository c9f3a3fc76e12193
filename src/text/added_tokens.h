#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace assay {

/// A token that is found in the text as it stands, before words are split ("[SEP]", "<|endoftext|>").
struct AddedToken {
  std::string content;
  std::int32_t id = 0;
  bool single_word = false;  ///< Not where a word character stands before or after it.
  bool lstrip = false;       ///< Swallows the white space before it.
  bool rstrip = false;       ///< Swallows the white space after it.
  bool normalized = false;   ///< Looked for in the normalised text, itself normalised.
  bool special = false;      ///< Added before the others.
};

/// A part of a text: an added token, or text in between (id -1). Empty parts do not occur.
struct Segment {
  std::string_view text;
  std::int32_t id = -1;
};

/// Finds added tokens: leftmost first, of those the longest.
class AddedTokenFinder {
 public:
  /// `pattern` is what to look for, not empty; the last token of a pattern has it (of two
  /// that normalise alike the `tokenizers` library takes one or the other, from run to run).
  void add(std::string_view pattern, const AddedToken& token);
  /// The parts of a text (valid UTF-8) in order. Where a token that strips has swallowed the white space with which
  /// the next one begins, both stand, as in the `tokenizers` library, unless that one strips too and nothing is left.
  std::vector<Segment> split(std::string_view text) const;

 private:
  std::size_t match_length(std::string_view text, std::size_t at, std::size_t& token) const;

  std::vector<AddedToken> tokens_;
  std::unordered_map<std::uint64_t, std::uint32_t> children_;  ///< node << 8 | byte -> node; node 0 is the root.
  std::vector<std::int32_t> token_at_ = {-1};                  ///< Index into tokens_ of the pattern ending at a node.
  std::array<bool, 256> starts_{};                             ///< Bytes with which a pattern starts.
};

}  // namespace assay
