#pragma once

#include <functional>

#include "cli/cli.h"
#include "processes/group.h"
#include "studies/train/run.h"

namespace assay {

/// How gradients are summed over ranks, who keeps the optimizer's state, how often weights are compared.
void add_rank_options(CLI::App& command, TrainRequest& request);

/// Calls work(group) as the rank that a launcher of MPI made of this process; with `threads` above 1, and no launcher,
/// on so many threads as ranks; else alone. Its exit code is rank 0's. Errors that all ranks have, and the loss of
/// another rank, are told by one of them; of the others only the exit code is left.
int as_rank(int threads, const std::function<int(Group&)>& work);

/// The facts of a rank that is one of `group`: of ranks that are threads each has its part of the processor.
MachineFacts facts_of_rank(const MachineFacts& facts, const Group& group, int thread_ranks);

}  // namespace assay
