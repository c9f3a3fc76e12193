#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json_fwd.h"
#include "model/config.h"

namespace assay {

/// What of a configuration is another: "d_model" "1024", in the order in which it was said.
using Sizes = std::vector<std::pair<std::string, std::string>>;
/// "d_model=1024,layers=24"; throws a user error naming `option`.
Sizes parse_sizes(std::string_view list, std::string_view option);
std::string words(const Sizes& sizes);

/// Puts the sizes into a config.json: keys of its own, or d_model, layers, heads, kv_heads, d_ff, context, vocab_size,
/// experts, active_experts, which every family has under some name. What was derived of what changes goes along: as
/// many key heads as heads, a head's share of the width, a list with an entry a layer (repeated). Throws a user error
/// for a key that the configuration does not have.
Json with_sizes(Json config, const Sizes& sizes);

/// Of a config.json, or a folder with one, with those sizes.
ModelConfig sized_config(const std::filesystem::path& path, const Sizes& sizes);
/// Of a known configuration.
ModelConfig sized_config(const ModelConfig& config, const Sizes& sizes);

}  // namespace assay
