#include "kernels/cuda/libraries.h"

#include <dlfcn.h>

#include <cstdlib>

namespace assay::cuda {
namespace {

void* open(const std::string& path) {
  return dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
}

/// With a slash at the end; "" is the loader's own path.
std::vector<std::string> folders() {
  std::vector<std::string> all;
  if (const char* asked = std::getenv("ASSAY_CUDA_LIBRARIES")) all.push_back(std::string(asked) + "/");
  for (const char* folder : {"", "/usr/local/cuda/lib64/", ASSAY_CUDA_LIBRARY_FOLDER "/"}) all.emplace_back(folder);
  return all;
}

}  // namespace

void* open_toolkit_library(const char* name, const std::vector<std::string>& beside) {
  for (const std::string& folder : folders()) {
    if (void* library = open(folder + name)) return library;
    if (folder.empty()) continue;
    for (const std::string& other : beside) {
      if (void* library = open(folder + other + "/" + name)) return library;
    }
  }
  return nullptr;
}

bool find_function(void* library, const char* name, void*& function) {
  function = dlsym(library, name);
  return function != nullptr;
}

}  // namespace assay::cuda
