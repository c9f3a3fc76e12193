#pragma once

#include <string>
#include <string_view>

namespace assay {

/// Text that SVG and HTML show as it is, in elements and in quoted attributes: what would be markup is escaped, bytes
/// that are no UTF-8 and control characters become U+FFFD, line ends and tabs become blanks.
std::string markup_text(std::string_view text);

}  // namespace assay
