#pragma once

#include <memory>
#include <string>
#include <vector>

#include "processes/group.h"

namespace assay {

/// Whether a launcher of MPI (mpirun, mpiexec, srun with PMI-2 or PMIx) started this process as one of several: its
/// environment says so.
bool is_launched_as_rank();

/// Whether one did at all, of one process too.
bool is_launched();
/// Whether one did that says of this process that it is not the first.
bool is_later_rank();
/// Whether launched_group() has made this process one of several ranks.
bool has_joined_ranks();
/// Whether launched_group() can make this process a rank of several: Open MPI's mpirun or another launcher by PMIx
/// started it, and the module is there. For work that goes on without.
bool can_join_ranks();
/// Names of the environment that make a program a rank: without them, one that this one starts is none.
std::vector<std::string> launcher_variables();

/// The group that this process was started in; a single process where no launcher started it as one of several, which
/// costs a look at the environment. Throws Error(lacking), which says how to get it, where the build has no MPI. Call
/// it once. `patience_s`: how long a rank of another machine may say nothing before it counts as lost.
std::unique_ptr<Group> launched_group(double patience_s = 1800);

}  // namespace assay
