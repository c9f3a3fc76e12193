#pragma once

#include <string>
#include <vector>

#include "studies/fleet/machines.h"
#include "studies/fleet/request.h"

namespace assay {

/// Machines that choose together: one that measured a grid whole, or those of a kind that divided one.
struct ChoosingGroup {
  std::string label = {};
  std::vector<const FleetMachine*> machines = {};
  std::vector<AnsweredCell> cells = {};
};
/// Records live in the fleet.
std::vector<ChoosingGroup> choosing_groups(const Fleet& fleet, const MostLoss& most);

/// Two groups that choose otherwise for the same aim, and what was recorded that may be why.
struct Disagreement {
  const AnsweredCell* cell = nullptr;
  std::string aim = {};
  const ChoosingGroup* group = nullptr;
  const ChoosingGroup* other = nullptr;
  const Record* best = nullptr;        ///< On `group`.
  const Record* other_best = nullptr;  ///< On `other`.
  std::vector<std::string> why = {};
};
/// Of the groups of each cell and aim the first ones of each two choices, where neither calls the other's as good as
/// its own.
std::vector<Disagreement> disagreements(const std::vector<ChoosingGroup>& groups);

}  // namespace assay
