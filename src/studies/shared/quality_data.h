#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "model/model.h"
#include "quality/protocols.h"
#include "results/states.h"

namespace assay {

/// What a model is scored on.
struct QualityRequest {
  std::filesystem::path data = {};  ///< .txt, .tsv or a folder of .npy; empty: the bundled text.
  ProtocolOptions protocol = {};
  std::uint64_t seed = 0;  ///< Of the ids for random weights.
};

/// The set on which a model's precisions are scored, or only why there is none.
struct QualityData {
  std::optional<QualitySet> set;
  QualityStatus status = {};  ///< Scored, or what keeps figures out.
};

/// The data cut by the protocol; for random weights without any random ids, on which only divergence means anything.
/// Throws a user error for data that the model cannot be scored on.
QualityData quality_data(const Model& model, const QualityRequest& request);

}  // namespace assay
