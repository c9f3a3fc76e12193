#pragma once

#include "kernels/kernel.h"

/// The cpu backend's implementations, file by file; their order of preference stands in backend.cc.
namespace assay::cpu {

// linear.cc
Offer linear_onednn_packed(const Call& call, const MachineFacts& facts);
Offer linear_onednn(const Call& call, const MachineFacts& facts);

}  // namespace assay::cpu
