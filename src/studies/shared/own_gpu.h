#pragma once

#include <optional>
#include <string>

#include "processes/group.h"

namespace assay {

/// Of the GPUs that CUDA_VISIBLE_DEVICES lists (absent: all that the machine has, `count`), the one of the rank that is
/// the `place`-th on its machine, from 0, as that variable names it; with more ranks than GPUs they are handed out
/// again. Absent where there are not several to choose from.
std::optional<std::string> gpu_of_place(const std::optional<std::string>& visible, int count, int place);

/// Leaves this process, where its launcher says which of a machine's ranks it is, a GPU of its own, in
/// CUDA_VISIBLE_DEVICES. Before CUDA is first asked for anything and before MPI is initialised: its threads may read
/// the environment, which must not change under them.
void take_own_gpu();

/// The first two ranks whose GPU is one and the same board of one machine: "ranks 0 and 2 share a GPU"; else empty.
/// `board`: the bus id of this rank's. Every rank of the group calls it.
std::string shared_gpu(Group& group, const std::string& board);

}  // namespace assay
