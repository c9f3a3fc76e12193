#include "studies/shared/own_gpu.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <vector>

#include "hardware/system_files.h"
#include "studies/shared/launched.h"
#include "studies/shared/rank_place.h"

namespace assay {
namespace {

constexpr const char* visible_gpus = "CUDA_VISIBLE_DEVICES";

std::optional<std::string> variable_of_process(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

}  // namespace

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

void take_own_gpu() {
  const auto rank = local_rank(variable_of_process);
  if (!rank) return;
  // The driver's own list: a folder for each board.
  const auto boards = static_cast<int>(list_folder("/proc/driver/nvidia/gpus").size());
  const auto own = gpu_of_place(variable_of_process(visible_gpus), boards, static_cast<int>(rank->number));
  if (own) ::setenv(visible_gpus, own->c_str(), 1);
}

std::string shared_gpu(Group& group, const std::string& board) {
  const std::vector<std::string> boards = all_gather(group, this_place().system + board);
  for (std::size_t rank = 1; rank < boards.size(); ++rank) {
    const auto own = boards.begin() + static_cast<std::ptrdiff_t>(rank);
    const auto first = std::find(boards.begin(), own, *own);
    if (first != own) return fmt::format("ranks {} and {} share a GPU", first - boards.begin(), rank);
  }
  return "";
}

}  // namespace assay
