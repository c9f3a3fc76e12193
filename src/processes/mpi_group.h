#pragma once

#include <memory>

#include "processes/group.h"
#include "processes/mpi/calls.h"

namespace assay {

/// The ranks of an MPI program. `calls` outlives it. Its first calls tell the ranks apart that are processes of this
/// machine: that one of those has died is seen within a tenth of a second of waiting. Ranks elsewhere are the
/// launcher's to watch; who says nothing for `patience_s` is lost.
struct MpiOptions {
  double patience_s = 1800;
};
std::unique_ptr<Group> mpi_group(const AssayMpiCalls& calls, const MpiOptions& options = {});

}  // namespace assay
