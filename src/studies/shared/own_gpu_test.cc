#include "studies/shared/own_gpu.h"

#include <gtest/gtest.h>

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
