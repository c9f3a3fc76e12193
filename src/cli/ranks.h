#pragma once

#include <functional>
#include <vector>

#include "cli/cli.h"
#include "processes/group.h"
#include "studies/train/run.h"
#include "training/reducer.h"

namespace assay {

/// --reduce as a list, --reduce-by, --zero.
void add_reduce_list(CLI::App& command, std::vector<ReduceFormat>& formats);
void add_reduce_by(CLI::App& command, ReduceBy& by);
void add_zero(CLI::App& command, ZeroStage& stage);
/// Throws a user error for options of ranks: this process is the only one.
void refuse_rank_options(const CLI::App& command);

/// How gradients are summed over ranks, who keeps the optimizer's state, how often weights are compared.
void add_rank_options(CLI::App& command, TrainRequest& request);

/// "--ranks N": as so many threads of this process.
void add_thread_ranks_option(CLI::App& command, int& ranks);

/// The facts of this rank's machine; where ranks share a GPU, rank 0 says so. Every rank of the group calls it; errors
/// are shared.
MachineFacts facts_of_rank(Group& group, const MachineOptions& machine, const std::string& device);

/// Calls work(group) as a rank of several. Errors that all ranks have, and the loss of another rank, are told by one of
/// them; of the others only the exit code is left. `task`: what the ranks do together, in words; one that does another
/// thing than rank 0 is an error that names it.
int as_rank_of(Group& group, const std::string& task, const std::function<int(Group&)>& work);

/// What ranks are asked for.
struct RanksWork {
  std::string task;      ///< As above.
  std::string device;    ///< On cuda each rank of a machine takes a GPU of its own.
  int thread_ranks = 1;  ///< Threads of this process that stand for ranks.
};
/// The command line as a task, without what does not say what is done (outputs, a store).
std::string task_of_command(const CLI::App& command);

/// Calls work(group) as the rank that a launcher of MPI made of this process, else alone.
/// Throws a user error where a launcher has made ranks and more than one thread is asked for, and where ranks run other
/// programs than rank 0.
int as_rank(const RanksWork& asked, const std::function<int(Group&)>& work);

}  // namespace assay
