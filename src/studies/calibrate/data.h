#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "model/model.h"
#include "quality/evaluate.h"

namespace assay {

/// Rows that something is calibrated on.
struct CalibrationData {
  std::filesystem::path data = {};  ///< A text, .tsv, .jsonl or folder of .npy.
  std::int64_t samples = 128;       ///< The most rows: windows of a text, or sentences.
  std::int64_t window = 128;        ///< Tokens a row of a text.
};

/// The rows, a batch each. Throws user errors for data that the model cannot run on.
QualitySet calibration_rows(const Model& model, const CalibrationData& asked);
/// Rows of random ids: where no data is given, and the speed alone is asked.
QualitySet random_calibration_rows(const Model& model, std::int64_t rows, std::uint64_t seed);

/// "wiki.txt, first 16,384 tokens, 128 rows, sha256:0123456789abcdef": the hash is of the ids, whatever they came from.
std::string calibration_words(const QualitySet& set);

}  // namespace assay
