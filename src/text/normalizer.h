#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "text/expression.h"
#include "text/precompiled.h"

namespace assay {

/// What is done character by character; what is asked for happens in this order. BertNormalizer is one step; NFD,
/// Lowercase,
/// ... of the `tokenizers` library are steps with one field set.
struct CharacterStep {
  enum class Form { as_is, canonical, compatible };
  bool clean_text = false;        ///< Drop control and format characters; make every white space a space.
  bool clean_nmt = false;         ///< As the normaliser Nmt does: other controls, other spaces.
  bool pad_cjk = false;           ///< Put a space on both sides of CJK ideographs.
  Form decomposed = Form::as_is;  ///< NFD, NFKD.
  bool strip_marks = false;       ///< Drop non-spacing marks.
  bool strip_accents = false;     ///< Drop what the normaliser StripAccents drops.
  bool lowercase = false;         ///< Character by character, without context rules.
  bool composed = false;          ///< NFC, NFKC; only after decomposition.
};

/// Text put before one that is not empty.
struct Prepend {
  std::string text = {};
};

/// Every match becomes `content`.
struct Replacement {
  Expression pattern;
  std::string content;
};

/// White space dropped at the ends.
struct Trim {
  bool left = true;
  bool right = true;
};

using NormalizerStep = std::variant<CharacterStep, Prepend, Replacement, Trim, CharacterMap>;

/// The text after all steps. The text must be valid UTF-8.
std::string normalize(const std::vector<NormalizerStep>& steps, std::string_view text);

/// How many bytes at the beginning of the text after all steps stand, as the `tokenizers` library counts, for the
/// character that the text begins with: 0 where that was dropped.
std::size_t bytes_of_first(const std::vector<NormalizerStep>& steps, std::string_view text);

/// False where a step puts marks in order and drops some of them: which one the library then counts as the first
/// depends on those that are gone.
bool counts_the_first(const std::vector<NormalizerStep>& steps);

}  // namespace assay
