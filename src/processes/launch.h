#pragma once

#include <memory>

#include "processes/group.h"

namespace assay {

/// Whether a launcher of MPI (mpirun, mpiexec, srun with PMI-2 or PMIx) started this process as one of several: its
/// environment says so.
bool is_launched_as_rank();

/// Whether one did at all, of one process too.
bool is_launched();
/// Takes its words out of the environment, so that programs which this one starts are none of its ranks.
void leave_launcher();

/// The group that this process was started in; a single process where no launcher started it as one of several, which
/// costs a look at the environment. Throws Error(lacking), which says how to get it, where the build has no MPI. Call
/// it once.
std::unique_ptr<Group> launched_group();

}  // namespace assay
