#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "quality/evaluate.h"
#include "studies/sensitivity/run.h"
#include "studies/tune/request.h"
#include "studies/tune/scoring.h"

namespace assay {

/// A precision that no layer is given, and why.
struct LeftOut {
  std::string precision = {};
  std::string why = {};
  double fp32_runs = 1;                      ///< What the whole model takes in it, in runs of fp32.
  std::optional<UnitQuality> searched = {};  ///< On the search's rows, where it was scored there.
  bool has_point = true;                     ///< Whether it is timed and scored in the end: the budget may not do.
};

/// What the whole model takes and loses in a row.
struct WholeRow {
  std::string name = {};
  double cost = 0;                ///< In the aim's unit.
  std::optional<Change> kl = {};  ///< Absent: not measured.
};

/// Why each row cannot help: it takes more than fp32 does, or another takes less and loses less. What is measured has
/// to differ by more than runs do (a tenth of time and joules, KL by its intervals), what is counted by anything at
/// all. Empty where it may help.
std::vector<std::string> reasons_against(std::span<const WholeRow> rows, double fp32_cost, Aim aim);

/// Takes the rows that cannot help out of the subject and the study.
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
/// fewer than one that is searched on and two that are held out. Of rows that are left out, the slowest get no point
/// where the end's share has no room for all.
ScoredBatches batches_within(const TuneRequest& request, const Scoring& scoring, const QualitySet& held_out,
                             const ModelSensitivity& study, std::size_t finalists, std::vector<LeftOut>& left_out);

}  // namespace assay
