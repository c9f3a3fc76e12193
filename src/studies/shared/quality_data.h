#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "model/model.h"
#include "quality/protocols.h"
#include "results/states.h"

namespace assay {

/// Ids of a text that are scored where nobody says how many; of rows, where the model's weights are random.
constexpr std::int64_t usual_tokens = 8192;

/// What a model is scored on.
struct QualityRequest {
  std::filesystem::path data = {};  ///< A text, .tsv, .jsonl or a folder of .npy; empty: the bundled text.
  ProtocolOptions protocol = {};
  std::uint64_t seed = 0;  ///< Of the ids for random weights.
};

/// The set on which a model's precisions are scored, or only why there is none.
struct QualityData {
  std::optional<QualitySet> set;
  QualityStatus status = {};  ///< Scored, or what keeps figures out.
  std::string note = {};      ///< What is to be known before it is scored; may be empty.
};

/// The data cut by the protocol; for random weights without any random ids, on which only divergence means anything.
/// Throws a user error for data that the model cannot be scored on.
QualityData quality_data(const Model& model, const QualityRequest& request);

}  // namespace assay
