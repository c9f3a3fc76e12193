#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace assay {

/// One normalisation of a text; what is asked for happens in this order. BertNormalizer is one step; NFD and Lowercase
/// of the `tokenizers` library are steps with one field set.
struct NormalizerStep {
  bool clean_text = false;   ///< Drop control and format characters; make every white space a space.
  bool pad_cjk = false;      ///< Put a space on both sides of CJK ideographs.
  bool decompose = false;    ///< Canonical decomposition (NFD).
  bool strip_marks = false;  ///< Drop non-spacing marks; only after `decompose`.
  bool lowercase = false;    ///< Character by character, without context rules.
};

/// The text after all steps. The text must be valid UTF-8.
std::string normalize(const std::vector<NormalizerStep>& steps, std::string_view text);

}  // namespace assay
