#include "text/added_tokens.h"

#include <algorithm>

#include "text/unicode.h"

namespace assay {
namespace {

std::uint64_t edge(std::uint32_t node, char byte) {
  return std::uint64_t{node} << 8 | static_cast<unsigned char>(byte);
}

bool word_before(std::string_view text, std::size_t at) {
  return at > 0 && (unicode::properties(unicode::previous_code_point(text, at)) & unicode::word);
}

bool word_after(std::string_view text, std::size_t at) {
  return at < text.size() && (unicode::properties(unicode::next_code_point(text, at)) & unicode::word);
}

/// Start of the white space that ends before text[at], not before `least`.
std::size_t white_start(std::string_view text, std::size_t at, std::size_t least) {
  while (at > least) {
    std::size_t before = at;
    if (!(unicode::properties(unicode::previous_code_point(text, before)) & unicode::white)) break;
    at = before;
  }
  return at;
}

std::size_t white_end(std::string_view text, std::size_t at) {
  while (at < text.size()) {
    std::size_t after = at;
    if (!(unicode::properties(unicode::next_code_point(text, after)) & unicode::white)) break;
    at = after;
  }
  return at;
}

}  // namespace

void AddedTokenFinder::add(std::string_view pattern, const AddedToken& token) {
  std::uint32_t node = 0;
  for (const char byte : pattern) {
    const auto fresh = static_cast<std::uint32_t>(token_at_.size());
    const auto [child, inserted] = children_.emplace(edge(node, byte), fresh);
    if (inserted) token_at_.push_back(-1);
    node = child->second;
  }
  token_at_[node] = static_cast<std::int32_t>(tokens_.size());
  tokens_.push_back(token);
  starts_[static_cast<unsigned char>(pattern.front())] = true;
}

/// Length of the longest pattern at text[at], 0 where there is none.
std::size_t AddedTokenFinder::match_length(std::string_view text, std::size_t at, std::size_t& token) const {
  std::size_t longest = 0;
  std::uint32_t node = 0;
  for (std::size_t i = at; i < text.size(); ++i) {
    const auto child = children_.find(edge(node, text[i]));
    if (child == children_.end()) break;
    node = child->second;
    if (token_at_[node] < 0) continue;
    token = static_cast<std::size_t>(token_at_[node]);
    longest = i + 1 - at;
  }
  return longest;
}

std::vector<Segment> AddedTokenFinder::split(std::string_view text) const {
  std::vector<Segment> segments;
  std::size_t done = 0;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t index = 0;
    const std::size_t length = starts_[static_cast<unsigned char>(text[at])] ? match_length(text, at, index) : 0;
    if (length == 0) {
      ++at;
      continue;
    }
    const std::size_t end = at + length;
    const AddedToken& token = tokens_[index];
    if (!token.single_word || (!word_before(text, at) && !word_after(text, end))) {
      const std::size_t start = token.lstrip ? std::max(done, white_start(text, at, std::min(done, at))) : at;
      const std::size_t stop = token.rstrip ? white_end(text, end) : end;
      if (done < start) segments.push_back({text.substr(done, start - done), -1});
      // White space that the token before it took leaves nothing of one that is all white space.
      if (start < stop) segments.push_back({text.substr(start, stop - start), token.id});
      if (start < stop) done = stop;
    }
    at = end;
  }
  if (done < text.size()) segments.push_back({text.substr(done), -1});
  return segments;
}

}  // namespace assay
