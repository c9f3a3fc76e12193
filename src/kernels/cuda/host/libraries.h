#pragma once

#include <string>
#include <vector>

#include "kernels/cuda/launch.h"

/// CUDA's libraries are opened when they are first asked for, so that the program starts anywhere.
namespace assay::ASSAY_CUDA_NAMESPACE {

/// Where they are looked for, in this order: the folders that `asked` lists (colons between them; null: none), the
/// loader's own path, the toolkit's usual folder, and those that `built_with` lists. Each one ends in '/' but the
/// loader's path, which is empty.
std::vector<std::string> library_folders(const char* asked, const char* built_with);

/// What dlopen says of the first of these folders that has such a library, in itself or in one of the folders `beside`
/// it ("../../cuda_cupti/lib": where a Python package has it); null where none has.
void* open_library(const char* name, const std::vector<std::string>& folders,
                   const std::vector<std::string>& beside = {});

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

}  // namespace assay::ASSAY_CUDA_NAMESPACE
