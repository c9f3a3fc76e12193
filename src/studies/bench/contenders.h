#pragma once

#include <string>
#include <vector>

#include "hardware/facts.h"
#include "model/model.h"
#include "studies/bench/request.h"

namespace assay {

/// A precision that is measured, with its overrides by role. The baseline has none, whatever was asked of the others.
struct Contender {
  std::string precision;
  std::string overrides;
  std::string engine = {};  ///< The peer, or the program beside, that runs it; empty: this one.
  friend bool operator==(const Contender&, const Contender&) = default;
};

/// The baseline of every speed-up and divergence first: fp32 as it is. Then what was asked, with its overrides, then
/// the same of each peer (of all precisions those that it can be asked for), then programs beside.
std::vector<Contender> asked_contenders(const BenchRequest& request);

/// Whether a peer is asked for a precision that it calibrates by itself.
bool peers_calibrate(const BenchRequest& request);
/// Whether it is a row of ours whose scales nobody gave. Beside a peer that finds its own it is a row that
/// says so, alone the user's mistake.
bool lacks_scales(const Contender& contender, const BenchRequest& request);

/// Throws a user error for a precision or overrides that do not exist.
void check_precision(const Contender& contender, const EngineOptions& engine);
/// The options for it alone.
EngineOptions engine_for(const Contender& contender, EngineOptions engine);

/// Precisions in groups whose weights fit into memory at the same time, each beginning with the baseline where that
/// fits beside the next precision; else that one runs alone, without a speed-up.
std::vector<std::vector<Contender>> group_precisions(const Model& model, const BenchRequest& request,
                                                     const std::vector<Contender>& contenders,
                                                     const MachineFacts& facts);

}  // namespace assay
