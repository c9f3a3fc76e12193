#pragma once

#include <cstddef>
#include <vector>

#include "quality/evaluate.h"
#include "studies/sensitivity/run.h"
#include "studies/tune/request.h"
#include "studies/tune/run.h"
#include "studies/tune/scoring.h"

namespace assay {

inline constexpr std::size_t most_finalists = 4;  ///< Mixes that pass, timed in the end.
inline constexpr std::size_t most_beyond = 2;     ///< And mixes that lose more or less, for the front.

/// What is timed in the end: fp32, every row that runs natively, those that were left out of the search included as
/// far as the budget has room for them, and the mixes that are foretold to be cheapest.
std::vector<TunePoint> points_of(const Scoring& scoring, const ModelSensitivity& study, const Tuning& tuning);

/// Scores every point on rows that the search did not see. False after an interrupt.
bool score_held_out(const Scoring& scoring, const QualitySet& held_out, Tuning& tuning);

/// Times fp32 and all points, interleaved.
Document timed_points(const TuneRequest& request, const Tuning& tuning, const MachineFacts& facts,
                      const StudyCallbacks& callbacks);

}  // namespace assay
