#pragma once

#include <string_view>

namespace assay {

/// The text that models are scored on where no `--data` is given (text/sample_text.md): English prose of more than
/// 8,192 tokens, so that a first run needs no data. It is frozen: figures on it compare between versions. Records name
/// it "bundled handbook", after its subject; what users read is docs/handbook.md.
std::string_view bundled_text();

}  // namespace assay
