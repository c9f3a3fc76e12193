#pragma once

#include <cstddef>
#include <string_view>

namespace assay {

/// End of the extended grapheme cluster (Unicode Standard Annex 29) that starts at text[at], at < text.size(). The text
/// must be valid UTF-8.
std::size_t grapheme_end(std::string_view text, std::size_t at);

}  // namespace assay
