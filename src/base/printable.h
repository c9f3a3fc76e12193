#pragma once

#include <string>
#include <string_view>

namespace assay {

/// Text from a file as one line of an error may show it: printable UTF-8 stays, every control character or malformed
/// byte becomes \xNN, and what goes on for more than `max_bytes` is cut and ends in "...".
std::string printable(std::string_view text, std::size_t max_bytes = 120);

/// Bytes of the well-formed UTF-8 character at the start of `text` (RFC 3629: no overlong forms, no surrogates); 0
/// where there is none.
std::size_t utf8_length(std::string_view text);

}  // namespace assay
