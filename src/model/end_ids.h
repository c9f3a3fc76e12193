#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace assay {

/// The ids at which a text ends, as the checkpoint says: `eos_token_id`, one or several, of generation_config.json,
/// else of config.json, there under text_config where a model of images has it beside its text; of a GGUF file
/// tokenizer.ggml.eos_token_id, and .eot_token_id where there is one. Empty where it says nothing. `checkpoint`: a
/// folder, a file of one, or a .gguf. Throws a user error for what is no id.
std::vector<std::int32_t> end_ids(const std::filesystem::path& checkpoint);

}  // namespace assay
