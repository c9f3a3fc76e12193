#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "hardware/facts.h"
#include "studies/shared/shard.h"
#include "studies/shared/training_step.h"

namespace assay {

struct ProfileRequest {
  std::string model = {};
  std::string precision = "fp32";
  std::string against = {};  ///< A second precision to compare with; empty: none.
  RunMode mode = RunMode::infer;
  Extent extent = {1, 128};
  StepVariant step = {};  ///< Training. Of several parts one is timed, and one update.
  double seconds = 5;     ///< For each precision; at least fewest_for_interval rounds are run.
  int rounds = 0;         ///< Exactly so many; 0: as many as fit.
  EngineOptions engine = {};
  ModelOptions model_options = {};
};

/// Each model at each length, else alike.
struct ProfileGrid {
  ProfileRequest each = {};
  std::vector<std::string> models = {};
  std::vector<std::int64_t> seqs = {128};
  GridDivision division = {};  ///< Among processes and machines.
  StepAxes step = {};
};

/// What of the grid is measured here.
ShardPart profile_part(GridDivision& division, const ProfileGrid& grid);

using ProfileProgress = std::function<void(const std::string& what)>;

}  // namespace assay
