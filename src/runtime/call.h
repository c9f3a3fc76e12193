#pragma once

#include <functional>
#include <vector>

#include "kernels/kernel.h"
#include "runtime/layout.h"

namespace assay {

/// The packing in which a constant is held already; null where it is not held.
using HeldPacking = std::function<const Packing*(ValueId)>;

/// What decides a node's calls besides the node.
struct CallContext {
  const Program& program;
  const Layout& layout;
  const PlanOptions& options;
  int threads = 1;
  HeldPacking held;
};

/// What a kernel is told about a value at that extent.
Argument describe(const Program& program, ValueId value, Extent extent);

/// What the kernel of a node is told.
Call call_for(const CallContext& context, const Node& node);

/// Whether the value is the mask of a plan that will be given none.
bool is_absent_mask(const Program& program, const PlanOptions& options, ValueId value);

/// The order in which a layout's nodes are made ready, as places in layout.nodes: the largest constants come first,
/// since a weight is there twice or more while it is packed. A table comes behind the linear that shares its weight,
/// and is read in whatever layout that has chosen.
std::vector<std::size_t> preparation_order(const Program& program, const Layout& layout, Extent extent);

}  // namespace assay
