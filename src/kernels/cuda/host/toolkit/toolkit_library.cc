#include "kernels/cuda/host/toolkit/toolkit_library.h"

#include <cstdlib>

namespace assay::cuda {

void* open_toolkit_library(const char* name, const std::vector<std::string>& beside) {
  const char* asked = std::getenv("ASSAY_CUDA_LIBRARIES");
  return open_library(name, library_folders(asked, ASSAY_CUDA_LIBRARY_FOLDERS), beside);
}

}  // namespace assay::cuda
