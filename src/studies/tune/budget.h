#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "quality/evaluate.h"
#include "studies/sensitivity/run.h"
#include "studies/tune/request.h"

namespace assay {

/// A precision that no layer is given, and why.
struct LeftOut {
  std::string precision = {};
  std::string why = {};
};

/// Takes rows out of the subject and the study that cannot help, by what the whole model takes in them: those that save
/// nothing of what fp32 takes, and, where their quality is known, those that another is at least as good as in both.
std::vector<LeftOut> drop_useless_rows(StudiedModel& subject, Aim aim, ModelSensitivity& study);

/// How a budget of seconds is shared out. Costs come first and are not cut; what follows them is cut to fit.
struct TuneShares {
  double estimates = 0.4;  ///< Of the budget: quality of rows and rests, gradients.
  double end = 0.3;        ///< Scores on the rows that the search did not see, and the last timing.
};

/// Batches that are scored.
struct ScoredBatches {
  std::size_t searched = 0;
  std::size_t held_out = 0;
  double end_s = 0;  ///< What the end takes with them.
};

/// As many of the sets' batches as the budget has room for, by the time of one in fp32 and by the costs of the rows; no
/// fewer than one that is searched on and two that are held out.
ScoredBatches batches_within(const TuneRequest& request, const StudiedModel& subject, const QualitySet& held_out,
                             const ModelSensitivity& study, std::size_t finalists);

}  // namespace assay
