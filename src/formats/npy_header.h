#pragma once

#include <string>
#include <string_view>

#include "tensor/tensor.h"

namespace assay {

struct NpyHeader {
  std::string descr;
  bool fortran_order = false;
  Shape shape;
};

/// Reads the three entries, in any order, each exactly once. Throws a user error that names the byte at fault.
NpyHeader parse_npy_header(std::string_view text, const std::string& name);

}  // namespace assay
