#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "studies/fleet/machines.h"
#include "studies/fleet/request.h"

namespace assay {

/// A machine beside the others of its kind.
struct MachineStanding {
  const FleetMachine* machine = nullptr;
  std::size_t cells = 0;  ///< That it shares with two others or more.
  double time_ratio = 1;  ///< Its time over the others': above 1, it is slower.
  double low = 1;         ///< Ends of the interval, corrected for the number of machines.
  double high = 1;
  double p = 1;            ///< Corrected likewise.
  double least_ratio = 1;  ///< Over its cells.
  double most_ratio = 1;
  bool stands_apart = false;               ///< Beyond doubt and by more than the margin.
  std::vector<std::string> evidence = {};  ///< What was recorded there and is otherwise on the others.
};

/// Machines of one processor and as many cores.
struct FleetKind {
  std::string kind = {};
  std::vector<const FleetMachine*> machines = {};
  std::vector<MachineStanding> standings = {};  ///< Of those with cells in common; empty where `untested` says why.
  double spread = 0;  ///< Standard deviation of log time between those that do not stand apart.
  std::string untested = {};
};

/// Pairs each machine with the others cell by cell: of the logarithm of its median, less the middle of all machines
/// that have the cell, the Hodges-Lehmann middle over cells is what the machine is off by. Which of them are off by
/// more than machines of that kind differ is told by `deviations` (statistics/outliers.h), the level shared by all
/// kinds. So what moves a whole run counts once, and not as often as there are cells.
std::vector<FleetKind> fleet_kinds(const Fleet& fleet, const FleetRequest& request);

}  // namespace assay
