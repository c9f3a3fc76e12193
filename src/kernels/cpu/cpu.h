#pragma once

#include "kernels/kernel.h"

/// The cpu backend's implementations, file by file; their order of preference stands in backend.cc.
namespace assay::cpu {}  // namespace assay::cpu
