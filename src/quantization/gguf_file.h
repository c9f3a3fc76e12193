#pragma once

#include <filesystem>

#include "quantization/folder.h"
#include "quantization/source.h"

namespace assay {

// A model as one GGUF file, which llama.cpp and what is built on it open: names, orders and added ones by the tables
// that the reader has (model/gguf_names.h), the configuration by model/gguf_entries.h, the tokenizer where GGUF has one
// of its kind (text/tokenizer_gguf_write.h). Vectors are F32, as everywhere in such files.

/// Throws a user error, before anything is written, that names the family, or the layer whose row no type of GGUF is.
void check_gguf(const QuantizationSource& source);

/// Writes the file and reads it back: every tensor has to be found, the configuration to be the model's. Throws a user
/// error that names the entry that the file cannot say.
WrittenModel write_model_gguf(const QuantizationSource& source, const std::filesystem::path& file);

}  // namespace assay
