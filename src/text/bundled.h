#pragma once

#include <string_view>

namespace assay {

/// The handbook of this project (docs/handbook.md) as it was when the program was built: English prose of more than
/// 8,192 tokens, so that a first run needs no data.
std::string_view bundled_text();

}  // namespace assay
