#include "studies/shared/own_gpu.h"

#include <cstdlib>
#include <sstream>
#include <vector>

#include "hardware/system_files.h"
#include "studies/shared/rank_place.h"

namespace assay {

std::optional<std::string> gpu_of_place(const std::optional<std::string>& visible, int count, int place) {
  std::vector<std::string> names;
  if (visible) {
    std::istringstream list(*visible);
    for (std::string one; std::getline(list, one, ',');) names.push_back(one);
  } else {
    for (int number = 0; number < count; ++number) names.push_back(std::to_string(number));
  }
  if (names.size() < 2) return std::nullopt;
  return names[static_cast<std::size_t>(place) % names.size()];
}

void take_own_gpu(Group& group) {
  if (group.size() == 1 || group.is_one_process()) return;
  const std::vector<std::string> systems = all_gather(group, this_place().system);
  const auto mine = static_cast<std::size_t>(group.rank());
  int place = 0;
  for (std::size_t rank = 0; rank < mine; ++rank) place += systems[rank] == systems[mine] ? 1 : 0;
  const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
  // The driver's own list: a folder for each board.
  const auto boards = static_cast<int>(list_folder("/proc/driver/nvidia/gpus").size());
  const auto own = gpu_of_place(visible == nullptr ? std::nullopt : std::optional<std::string>(visible), boards, place);
  if (own) ::setenv("CUDA_VISIBLE_DEVICES", own->c_str(), 1);
}

}  // namespace assay
