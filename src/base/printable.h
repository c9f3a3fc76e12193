#pragma once

#include <string>
#include <string_view>

namespace assay {

// What a file, a program or a person gave may hold bytes that a terminal obeys, that end a line or that turn the
// direction of reading: C0 and C1 controls, line and paragraph separators, and Unicode's invisible format characters
// (bidirectional controls, zero-width spaces, tags; not the joiners that scripts are written with). One list of them
// serves both functions.

/// Untrusted text as a part of one line: printable UTF-8 stays, every such character or malformed byte becomes \xNN,
/// and what goes on for more than `max_bytes` is cut and ends in "...".
std::string printable(std::string_view text, std::size_t max_bytes = 120);

/// An error's line: as `printable`, but what is too long loses its middle, since its reason stands at the end.
std::string printable_error(std::string_view text, std::size_t max_bytes);

/// Whole results, as they go to a stream or a text file: line ends (LF, CR LF) and tabs stay; such a character becomes
/// \uNNNN, which is what JSON says for it, a malformed byte \xNN.
std::string harmless(std::string_view text);

/// Bytes of the well-formed UTF-8 character at the start of `text` (RFC 3629: no overlong forms, no surrogates); 0
/// where there is none.
std::size_t utf8_length(std::string_view text);

}  // namespace assay
