#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "text/vocabulary.h"

namespace assay {

/// The ids of the words met so far in one text: most words of a text are repetitions.
class WordCache {
 public:
  /// Appends the word's ids to `ids` and returns true where the word is known.
  bool append(std::string_view word, std::vector<std::int32_t>& ids) const {
    const auto found = places_.find(word);
    if (found == places_.end()) return false;
    const auto [begin, count] = found->second;
    ids.insert(ids.end(), pool_.begin() + begin, pool_.begin() + begin + count);
    return true;
  }

  /// Long words hardly ever come again, and a text of only new words must not fill the memory.
  void remember(std::string_view word, std::span<const std::int32_t> ids) {
    if (word.size() > 64 || places_.size() >= 100'000) return;
    places_.emplace(word, std::pair(pool_.size(), ids.size()));
    pool_.insert(pool_.end(), ids.begin(), ids.end());
  }

 private:
  StringMap<std::pair<std::size_t, std::size_t>> places_;
  std::vector<std::int32_t> pool_;
};

}  // namespace assay
