#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "model/model.h"
#include "quality/protocols.h"
#include "results/states.h"
#include "studies/shared/engine.h"

namespace assay {

/// Ids of a text that are scored where nobody says how many; of rows, where the model's weights are random.
constexpr std::int64_t usual_tokens = 8192;
/// The same where each id takes a row of its own.
constexpr std::int64_t usual_masked_tokens = 512;

/// Whether rows are to be scored, or only run by the clock: then each stands as it is.
enum class RowsFor : std::uint8_t { scores, timing };

/// What a model is scored on.
struct QualityRequest {
  std::filesystem::path data = {};  ///< A text, .tsv, .jsonl or a folder of .npy; empty: the bundled text.
  ProtocolOptions protocol = {};
  std::uint64_t seed = 0;  ///< Of the ids for random weights.
  RowsFor rows_for = RowsFor::scores;
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

/// Drops what a tokenizer says of token types where the model has none. Throws a user error naming `file` for a type
/// that the model does not have.
void settle_token_types(const Model& model, QualitySet& set, const std::string& file);

/// The options with which the model runs on the set: it is told token types where the set has them.
EngineOptions engine_for(const QualitySet& set, EngineOptions engine);

}  // namespace assay
