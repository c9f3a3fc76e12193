#pragma once

#include "kernels/kernel.h"

namespace assay {

/// Tensors of a call over a list (op::l2_norm: its inputs; optimizers: parameters).
std::size_t listed(const Call& call);
/// The call for tensor `index` of the list alone, with its own stream of random numbers. Lost updates and norms go to
/// the first element of its last output.
Call listed_call(const Call& call, std::size_t index);

/// A kernel that takes the tensors of a list in turn, each by the kernel that `prepare_one` gives for it alone;
/// declines what `prepare_one` declines. Describes the first one's.
Offer one_by_one(const Call& call, const MachineFacts& facts, Offer (*prepare_one)(const Call&, const MachineFacts&));

/// The same as a function of its own, for backends' tables.
template <Offer (*prepare_one)(const Call&, const MachineFacts&)>
Offer each_listed(const Call& call, const MachineFacts& facts) {
  return one_by_one(call, facts, prepare_one);
}

}  // namespace assay
