#pragma once

#include "formats/byte_reader.h"
#include "formats/gguf.h"

namespace assay {

/// Reads one key and its value; every length and every nested element is checked. Throws a user error naming the key.
GgufValue read_gguf_value(ByteReader& reader);

}  // namespace assay
