#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

/// The ids of the words met so far in one text: most words of a text are repetitions. One flat array of places, looked
/// at from a word's hash on: looking a word up is what encoding a text consists of.
class WordCache {
 public:
  /// Appends the word's ids to `ids` and returns true where the word is known.
  bool append(std::string_view word, std::vector<std::int32_t>& ids) const {
    const Place& place = places_[index_of(word, std::hash<std::string_view>{}(word))];
    if (place.size == 0) return false;
    const auto begin = pool_.begin() + place.ids;
    ids.insert(ids.end(), begin, begin + place.count);
    return true;
  }

  /// Long words hardly ever come again, and a text of only new words must not fill the memory.
  void remember(std::string_view word, std::span<const std::int32_t> ids) {
    if (word.empty() || word.size() > 64 || words_ >= 100'000) return;
    if (2 * ++words_ > places_.size()) grow();
    const std::size_t hash = std::hash<std::string_view>{}(word);
    places_[index_of(word, hash)] = {hash, static_cast<std::uint32_t>(letters_.size()),
                                     static_cast<std::uint32_t>(pool_.size()), static_cast<std::uint32_t>(word.size()),
                                     static_cast<std::uint32_t>(ids.size())};
    letters_ += word;
    pool_.insert(pool_.end(), ids.begin(), ids.end());
  }

 private:
  /// A word in `letters_` and its ids in `pool_`; of size 0: free.
  struct Place {
    std::size_t hash = 0;
    std::uint32_t begin = 0;
    std::uint32_t ids = 0;
    std::uint32_t size = 0;
    std::uint32_t count = 0;
  };

  /// Of the word, or of the free place where it would stand.
  std::size_t index_of(std::string_view word, std::size_t hash) const {
    const std::size_t mask = places_.size() - 1;
    std::size_t index = hash & mask;
    while (places_[index].size != 0 && !holds(places_[index], word, hash)) index = (index + 1) & mask;
    return index;
  }

  bool holds(const Place& place, std::string_view word, std::size_t hash) const {
    return place.hash == hash && std::string_view(letters_).substr(place.begin, place.size) == word;
  }

  void grow() {
    std::vector<Place> before(4 * places_.size());
    before.swap(places_);
    for (const Place& place : before) {
      if (place.size != 0) places_[index_of({}, place.hash)] = place;
    }
  }

  std::vector<Place> places_ = std::vector<Place>(64);  ///< As many as a power of two; half of them free at least.
  std::size_t words_ = 0;
  std::string letters_;
  std::vector<std::int32_t> pool_;
};

}  // namespace assay
