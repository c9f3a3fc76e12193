#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "quantization/new_path.h"
#include "studies/shared/engine.h"

namespace assay {

struct QuantizeRequest {
  std::string model;
  std::string precision;      ///< A row, or a recipe of the engine's.
  std::filesystem::path out;  ///< A folder, or a file that ends in .gguf.
  Existing existing = Existing::refused;
  std::filesystem::path calibration = {};  ///< Data for rows that take it; empty: none.
  std::int64_t calibration_samples = 128;  ///< Rows of it.
  EngineOptions engine;
  ModelOptions model_options;
};

/// Writes the model in that precision, as it would run here, for other programs: whole or not at all. Returns sentences
/// about what was written and what the file does not say. Throws a user error, before anything is written, for what
/// the format cannot hold, which it names, and for calibration data where the precision takes none.
std::vector<std::string> quantize(const QuantizeRequest& request, const MachineFacts& facts,
                                  InterruptFlag interrupted = nullptr);

}  // namespace assay
