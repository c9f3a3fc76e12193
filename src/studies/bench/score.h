#pragma once

#include <optional>
#include <vector>

#include "studies/bench/group.h"
#include "studies/peers/peer_process.h"
#include "studies/shared/quality_data.h"

namespace assay {

/// Which members were scored, and what became of it.
struct Scores {
  std::vector<const BenchGroup::Member*> members;
  std::vector<const BenchGroup::Member*> engines;  ///< Peers: behind the members in the evaluation.
  /// Of each of those, what became of its process.
  std::vector<std::optional<PeerFailure>> failures;
  Evaluation evaluation;  ///< Nothing where something lacked for it.
  /// What the others are compared with; null where it was not scored.
  const QualityRows* baseline = nullptr;
};

/// Scores the group's precisions on `data` and writes the figures into their records among `records`; of models with a
/// cache token by token, into those of decoding. What memory or kernels lack for it becomes their quality_status: what
/// was timed stays.
Scores score(const BenchGroup& group, const QualityData& data, std::vector<Record>& records);

}  // namespace assay
