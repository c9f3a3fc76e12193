#pragma once

#include "base/json_fwd.h"
#include "model/config.h"

namespace assay {

/// The config.json of a model, with the entries that its family's published files have: parse_config gives `config`
/// back.
Json config_json(const ModelConfig& config);

}  // namespace assay
