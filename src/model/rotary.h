#pragma once

#include "base/json_fwd.h"
#include "model/config_reader.h"

namespace assay {

/// What config.json says of rotary positions, in the words of transformers 5 (`rope_parameters`) or of 4 (`rope_theta`,
/// `rope_scaling`, `partial_rotary_factor`): rope_theta, rope_scaling and rotary_dim of `config`, whose context and
/// head size stand already. Throws a user error for a rope_type that is unknown and for what its type needs and lacks.
void read_rotary(const ConfigReader& in, double usual_theta, ModelConfig& config);
/// Adds them so that readers of either age find them.
void write_rotary(const ModelConfig& config, Json& json);

}  // namespace assay
