#include "kernels/cuda/host/libraries.h"

#include <dlfcn.h>

namespace assay::ASSAY_CUDA_NAMESPACE {
namespace {

void add_listed(const char* list, std::vector<std::string>& folders) {
  std::string folder;
  for (const char* at = list; at != nullptr; ++at) {
    if (*at != ':' && *at != '\0') {
      folder += *at;
      continue;
    }
    if (!folder.empty()) folders.push_back(folder + "/");
    folder.clear();
    if (*at == '\0') return;
  }
}

}  // namespace

std::vector<std::string> library_folders(const char* asked, const char* built_with) {
  std::vector<std::string> folders;
  add_listed(asked, folders);
  folders.insert(folders.end(), {"", "/usr/local/cuda/lib64/"});
  add_listed(built_with, folders);
  return folders;
}

void* open_library(const char* name, const std::vector<std::string>& folders, const std::vector<std::string>& beside) {
  const auto open = [](const std::string& path) { return dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL); };
  for (const std::string& folder : folders) {
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

}  // namespace assay::ASSAY_CUDA_NAMESPACE
