#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "processes/group.h"

namespace assay {

/// Groups of which each is one rank's view of the same `size` ranks, to be used from a thread each.
std::vector<std::unique_ptr<Group>> thread_groups(int size);

/// Calls body(group) on `size` threads, each a rank. What one throws ends the others' waits; the error of the first
/// that ended for a reason of its own is rethrown once all have ended.
void run_as_ranks(int size, const std::function<void(Group&)>& body);

}  // namespace assay
