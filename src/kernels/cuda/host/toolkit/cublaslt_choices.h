#pragma once

#include <optional>
#include <string>

#include "kernels/cuda/host/toolkit/cublaslt_problem.h"

/// Algorithms that were chosen by measurement, in this process and, on disk, by GPU, driver and library, so that later
/// runs multiply by the same ones.
namespace assay::cuda {

struct Choice {
  cublasLtMatmulHeuristicResult_t algorithm = {};
  std::string how;  ///< "fastest of 8"
};

/// What was chosen for such a product, where the library still takes it for these layouts.
std::optional<Choice> kept_choice(const ProductShape& shape, const ProductLayouts& layouts);
void keep_choice(const ProductShape& shape, const Choice& choice);

}  // namespace assay::cuda
