#pragma once

#include "base/json_fwd.h"
#include "model/config.h"

namespace assay {

class Blocks;
class ConfigReader;
struct TensorNames;

/// OPT (Zhang et al. 2022): learned positions that count from the mask, MLPs without a gate.
extern const TensorNames opt_tensors;
ModelConfig parse_opt(const ConfigReader& in);
Json write_opt(const ModelConfig& config);
void emit_opt(Blocks& b);

}  // namespace assay
