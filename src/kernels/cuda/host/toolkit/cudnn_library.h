#pragma once

#include <cudnn.h>

#include <string>

namespace assay::cuda {

/// cuDNN 9, from the library that was found when it was first asked for.
struct Cudnn {
  std::string fault;  ///< Why it cannot be used, in words; "": it can.
  std::string version;
  cudnnHandle_t handle = nullptr;  ///< Of this process's one stream.
};

/// Looked for where cuBLASLt is (libraries.h). Throws nothing: attention can do without it.
const Cudnn& cudnn();

}  // namespace assay::cuda
