#pragma once

#include <span>
#include <string>
#include <vector>

#include "results/record.h"
#include "studies/rank_benchmark/rounds.h"

namespace assay {

/// The record of a row: as one of a single process's steps, with what ranks add. Of another rank than 0 the energy of
/// its machine alone is of use. `number`: of the row in the run, from 1.
Record record_of_ranks(const RankCase& one, const RankRounds& made, std::int64_t number);

/// A machine of the group, and what its meter gave.
struct MachineEnergy {
  std::string host;
  Energy energy;
};
/// What all machines drew for one sequence, bounds added up. No figures, and why, where one of them has none or its
/// meter is too slow for a step.
Energy energy_of_machines(std::span<const MachineEnergy> machines);

/// On rank 0, what the machines' readers gave: `mine` of each of them. Every rank calls it.
std::vector<MachineEnergy> gather_energy(const RankCase& one, const Energy& mine);

}  // namespace assay
