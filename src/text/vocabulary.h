#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace assay {

/// Lets a map with std::string keys be searched with a view, without a copy.
struct ViewHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};

template <typename Value>
using StringMap = std::unordered_map<std::string, Value, ViewHash, std::equal_to<>>;

/// Token (as the vocabulary file writes it) -> id.
using Vocabulary = StringMap<std::int32_t>;

/// The id, or -1 where the vocabulary lacks the token.
inline std::int32_t find_id(const Vocabulary& vocabulary, std::string_view token) {
  const auto found = vocabulary.find(token);
  return found == vocabulary.end() ? -1 : found->second;
}

}  // namespace assay
