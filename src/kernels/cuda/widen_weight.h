#pragma once

#include <functional>

#include "kernels/cuda/launch.h"

namespace assay::ASSAY_CUDA_NAMESPACE {

/// Where a weight of fewer bits is written as plain elements, dense (out, in).
struct WidenedTo {
  std::byte* w = nullptr;
  DType dtype = DType::f32;
  std::int64_t out = 0;
  std::int64_t in = 0;
};

/// Queues what writes the weight of a call, at every run.
using WeightWidener = std::function<void(const Memory& memory, const WidenedTo& to)>;

/// Of the blocks that are input 1.
WeightWidener widener_of_blocks(const Call& call);
/// Of s8 rows and their scales, at those places among the inputs.
WeightWidener widener_of_bytes(const Call& call, std::size_t weight, std::size_t scale);

}  // namespace assay::ASSAY_CUDA_NAMESPACE
