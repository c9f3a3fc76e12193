#pragma once

#include <string>

#include "base/json_fwd.h"
#include "model/config.h"

namespace assay {

/// The config.json of a model, with the entries that its family's published files have: parse_config gives `config`
/// back.
Json config_json(const ModelConfig& config);

/// A parameter's name in published checkpoints: "h.0.attn.c_attn.weight" -> "transformer.h.0.attn.c_attn.weight". The
/// heads, which stand beside the bare model, take no prefix.
std::string published_name(const std::string& parameter, Family family);

}  // namespace assay
