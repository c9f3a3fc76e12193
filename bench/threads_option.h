#pragma once

#include <cstdlib>
#include <string_view>

namespace assay {

/// N of --threads=N; 0, which stands for all cores, without it.
inline int wanted_threads(int argc, char** argv) {
  constexpr std::string_view option = "--threads=";
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]).starts_with(option)) return std::atoi(argv[i] + option.size());
  }
  return 0;
}

}  // namespace assay
