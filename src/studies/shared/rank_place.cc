#include "studies/shared/rank_place.h"

#include "hardware/host.h"
#include "hardware/system_files.h"

namespace assay {

RankPlace this_place() {
  const std::string& host = this_host().name;
  return {.system = read_text("/proc/sys/kernel/random/boot_id").value_or(host), .host = host};
}

}  // namespace assay
