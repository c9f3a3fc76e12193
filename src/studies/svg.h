#pragma once

#include <string>
#include <string_view>

#include "base/markup.h"

namespace assay {

/// Text with what SVG and HTML read as markup escaped.
inline std::string escaped(std::string_view text) {
  return markup_text(text);
}

}  // namespace assay
