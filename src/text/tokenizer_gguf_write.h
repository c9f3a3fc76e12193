#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "formats/gguf_write.h"

namespace assay {

/// A tokenizer as a GGUF file has it; `hindrance` says why it has none, and is empty where it has one.
struct GgufTokenizer {
  std::vector<GgufEntry> entries;
  std::string hindrance = {};
};

/// The tokenizer of a checkpoint, its chat template too: of a GGUF file as it stands there; of a folder's
/// tokenizer.json where that is a byte-level BPE whose splits GGUF has a name for. Which name is found as llama.cpp's
/// converter finds it: by the ids of a text, here the bundled one, odd characters and every added token; what differs
/// is not written. Tokens are as many as the embedding has rows, those without a text being called [PAD...].
GgufTokenizer gguf_tokenizer(const std::filesystem::path& checkpoint, std::int64_t rows);

}  // namespace assay
