#include "studies/shared/own_gpu.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <optional>

#include "processes/thread_ranks.h"
#include "studies/shared/meet_on_devices.h"

namespace assay {
namespace {

TEST(OwnGpu, RanksOfAMachineTakeItsGpusInTheirOrder) {
  EXPECT_EQ(gpu_of_place(std::nullopt, 4, 2), "2");
  EXPECT_EQ(gpu_of_place("5,GPU-8a,7", 8, 1), "GPU-8a");
  EXPECT_EQ(gpu_of_place("5,6", 8, 3), "6") << "handed out again";
  EXPECT_EQ(gpu_of_place("3", 8, 1), std::nullopt) << "a scheduler has chosen";
  EXPECT_EQ(gpu_of_place("", 8, 1), std::nullopt) << "none may be used";
  EXPECT_EQ(gpu_of_place(std::nullopt, 1, 1), std::nullopt);
}

/// Variables of this process, as they were before when it ends.
class SetVariables {
 public:
  explicit SetVariables(const std::map<std::string, std::string>& values) {
    for (const char* name :
         {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID", "CUDA_VISIBLE_DEVICES"}) {
      const char* const before = std::getenv(name);
      before_[name] = before == nullptr ? std::nullopt : std::optional<std::string>(before);
      const auto value = values.find(name);
      set(name, value == values.end() ? std::nullopt : std::optional(value->second));
    }
  }
  SetVariables(const SetVariables&) = delete;
  SetVariables& operator=(const SetVariables&) = delete;
  ~SetVariables() {
    for (const auto& [name, value] : before_) set(name, value);
  }

 private:
  static void set(const std::string& name, const std::optional<std::string>& value) {
    if (value)
      ::setenv(name.c_str(), value->c_str(), 1);
    else
      ::unsetenv(name.c_str());
  }
  std::map<std::string, std::optional<std::string>> before_;
};

/// What take_own_gpu() makes of the variables.
std::string visible_after(const std::map<std::string, std::string>& before) {
  const SetVariables variables(before);
  take_own_gpu();
  const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
  return visible == nullptr ? "unset" : visible;
}

TEST(OwnGpu, IsTheOneOfTheLaunchersLocalRank) {
  const std::string three = "4,GPU-8a,6";
  EXPECT_EQ(visible_after({{"OMPI_COMM_WORLD_LOCAL_RANK", "1"}, {"CUDA_VISIBLE_DEVICES", three}}), "GPU-8a");
  EXPECT_EQ(visible_after({{"SLURM_LOCALID", "2"}, {"CUDA_VISIBLE_DEVICES", three}}), "6");
  EXPECT_EQ(visible_after({{"SLURM_LOCALID", "0"}, {"MPI_LOCALRANKID", "1"}, {"CUDA_VISIBLE_DEVICES", three}}),
            "GPU-8a")
      << "within Slurm, Hydra numbers its ranks";
  EXPECT_EQ(visible_after({{"OMPI_COMM_WORLD_LOCAL_RANK", "1"}, {"CUDA_VISIBLE_DEVICES", "7"}}), "7");
  EXPECT_EQ(visible_after({{"OMPI_COMM_WORLD_LOCAL_RANK", "1"}, {"CUDA_VISIBLE_DEVICES", ""}}), "");
  EXPECT_EQ(visible_after({{"CUDA_VISIBLE_DEVICES", three}}), three) << "no launcher says";
}

TEST(OwnGpu, RanksThatShareOneAreNamed) {
  const auto shared = [](const std::vector<std::string>& boards) {
    std::vector<std::string> words(boards.size());
    run_as_ranks(static_cast<int>(boards.size()), [&](Group& group) {
      const auto mine = static_cast<std::size_t>(group.rank());
      words[mine] = shared_gpu(group, boards[mine]);
    });
    for (const std::string& one : words) EXPECT_EQ(one, words.front()) << "all ranks know it";
    return words.front();
  };
  EXPECT_EQ(shared({"0000:17:00.0", "0000:65:00.0", "0000:b3:00.0"}), "");
  EXPECT_EQ(shared({"0000:17:00.0", "0000:65:00.0", "0000:b3:00.0", "0000:65:00.0"}), "ranks 1 and 3 share a GPU");
}

/// On the host, and for ranks of one process, nothing is asked of any library.
TEST(OwnGpu, HostsSumByThemselves) {
  const GradientSize gradient = {.count = 8};
  run_as_ranks(2, [&](Group& group) {
    const DeviceMeeting meeting =
        meet_on_devices(group, cpu_backend(), {.by = ReduceBy::library}, std::span(&gradient, 1));
    EXPECT_EQ(meeting.sums, nullptr);
    EXPECT_EQ(meeting.words, "");
  });
}

}  // namespace
}  // namespace assay
