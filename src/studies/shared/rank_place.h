#pragma once

#include <string>

namespace assay {

/// Where a rank runs.
struct RankPlace {
  std::string system = {};  ///< With whom it shares processors and memory: this start of the kernel.
  std::string host = {};    ///< As records name the machine.
};
RankPlace this_place();

}  // namespace assay
