#pragma once

#include <span>
#include <string>
#include <vector>

#include "results/document.h"
#include "results/exchange.h"
#include "rules/best_rows.h"

namespace assay {

/// What is asked of the stores of several machines.
struct FleetRequest {
  MostLoss most_loss = {};
  double margin = 0.03;  ///< A machine that is slower or faster by less stands not apart.
  double level = 0.05;   ///< Chance that any of alike machines is said to stand apart.
};

/// One page over machines: which precision is best on each for each aim, where machines disagree and what was recorded
/// that explains it, which machine of a kind stands apart, and what of divided grids is missing, with the command that
/// measures it. Runs may come in any order and more than once. Throws a user error where there is no record.
Document fleet_report(std::vector<ExchangedRun> runs, const FleetRequest& request);

}  // namespace assay
