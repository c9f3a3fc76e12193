#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "studies/shared/shard.h"

namespace assay {

/// The value of an environment variable; absent where it is not set.
using Surroundings = std::function<std::optional<std::string>(const char* name)>;
/// Which of how many processes this one is, as Slurm (array tasks, tasks of a step) or Open MPI say: the innermost that
/// has more than one. Throws a user error of one line that names the variables where they say nothing, contradict each
/// other or are no numbers.
Shard shard_of(const Surroundings& surroundings);

/// Of the processes that a launcher started on this machine, which one this is, from 0; absent where none says.
struct LocalRank {
  const char* variable;
  std::int64_t number;
};
std::optional<LocalRank> local_rank(const Surroundings& surroundings);

}  // namespace assay
