#pragma once

#include <span>
#include <string>
#include <string_view>

namespace assay {

/// The word of `known` that takes the fewest insertions, deletions, replacements and swaps of neighbours to become
/// `word` (Damerau 1964), the first of several; empty where that is more than a third of its letters, or two.
std::string nearest_word(std::string_view word, std::span<const std::string> known);

/// "; did you mean 'precision'?", or nothing.
std::string did_you_mean(std::string_view word, std::span<const std::string> known);

}  // namespace assay
