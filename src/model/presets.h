#pragma once

#include <string_view>
#include <vector>

#include "model/config.h"

namespace assay {

/// A published size without its weights.
struct Preset {
  const char* name;
  ModelConfig config;
};

/// gpt2 .. gpt2-xl, distilbert-base, bert-base, cs336-small .. cs336-10b.
const std::vector<Preset>& presets();
const Preset* find_preset(std::string_view name);

}  // namespace assay
