#pragma once

#include <cstdint>
#include <vector>

#include "model/model.h"
#include "program/passes.h"
#include "quality/decoding.h"
#include "results/record.h"
#include "studies/bench/group.h"
#include "studies/generation_bench/cell.h"
#include "studies/generation_bench/request.h"
#include "studies/shared/quality_data.h"

namespace assay {

/// What decoding is scored on.
struct DecodedData {
  QualityData quality = {};  ///< Without a set nothing is scored.
  /// Of the same text, of one length; none where nobody asked, or the weights are random.
  std::vector<std::vector<std::int32_t>> prompts = {};
  std::int64_t new_tokens = 0;  ///< Behind each of them.
};

/// The data of the request cut by its protocol. Throws a user error for data that the model cannot be scored on, and
/// for rows with padding.
DecodedData decoded_data(const Model& model, const GenerationBenchRequest& request);
/// `size`, and where that is too small for what is scored, one that is not.
CacheSize with_room_for(const DecodedData& data, CacheSize size);

/// Scores the group's precisions token by token through the cache, and writes the figures into their records of
/// decoding among `records`.
void score_decoding(const BenchGroup& group, const DecodedData& data, std::vector<Record>& records);

}  // namespace assay
