#pragma once

#include <string>
#include <vector>

namespace assay::cuda {

/// Opens a library of the CUDA toolkit; null where it is nowhere. Looked into, in this order: the folder that
/// ASSAY_CUDA_LIBRARIES names, the loader's own path, /usr/local/cuda, the toolkit that the program was built with; of
/// each folder then those `beside` it ("../../cuda_cupti/lib": where a Python package has it).
void* open_toolkit_library(const char* name, const std::vector<std::string>& beside = {});

/// Writes the function of that name to `function`; false where the library has none.
bool find_function(void* library, const char* name, void*& function);

/// The same, for a pointer to a function.
template <typename Function>
bool find_function(void* library, const char* name, Function& function) {
  void* address = nullptr;
  const bool found = find_function(library, name, address);
  function = reinterpret_cast<Function>(address);
  return found;
}

}  // namespace assay::cuda
