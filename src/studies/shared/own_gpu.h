#pragma once

#include <optional>
#include <string>

#include "processes/group.h"

namespace assay {

/// Of the GPUs that CUDA_VISIBLE_DEVICES lists (absent: all that the machine has, `count`), the one of the rank that is
/// the `place`-th on its machine, from 0, as that variable names it; with more ranks than GPUs they are handed out
/// again. Absent where there are not several to choose from.
std::optional<std::string> gpu_of_place(const std::optional<std::string>& visible, int count, int place);

/// Leaves each rank a GPU of its own, in CUDA_VISIBLE_DEVICES. Before CUDA is first asked for anything; every rank of a
/// group of processes calls it.
void take_own_gpu(Group& group);

}  // namespace assay
