#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "text/vocabulary.h"

namespace assay {

/// Every word is a token or unknown.
struct WordLevel {
  Vocabulary vocabulary;
  std::int32_t unknown = 0;
};

inline void append_word(const WordLevel& model, std::string_view word, std::vector<std::int32_t>& ids) {
  const std::int32_t id = find_id(model.vocabulary, word);
  ids.push_back(id >= 0 ? id : model.unknown);
}

}  // namespace assay
