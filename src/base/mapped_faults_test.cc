#include "base/mapped_faults.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <csignal>
#include <thread>

#include "base/testing.h"

namespace assay {
namespace {

/// Reads the last byte of the file after it was cut to one.
void read_after_a_cut(const std::filesystem::path& path) {
  const MappedFile mapped(path);
  std::filesystem::resize_file(path, 1);
  volatile std::byte last = mapped.bytes().back();
  (void)last;
}

class MappedFaults : public testing::Test {
 protected:
  void SetUp() override { testing::GTEST_FLAG(death_test_style) = "threadsafe"; }

  TemporaryFolder folder_;
  std::filesystem::path file_ = folder_.file("weights", std::string(100'000, 'x'));
};

TEST_F(MappedFaults, AFileThatIsCutWhileItIsReadIsAUserErrorThatNamesIt) {
  EXPECT_EXIT(read_after_a_cut(file_), testing::ExitedWithCode(2),
              "^assay: .*weights: was truncated while it was read");
}

TEST_F(MappedFaults, InAnyThread) {
  EXPECT_EXIT(std::thread(read_after_a_cut, file_).join(), testing::ExitedWithCode(2), "weights: was truncated");
}

TEST_F(MappedFaults, AMovedMappingIsStillWatchedAndAClosedOneIsNot) {
  const auto moved = [&] {
    MappedFile first(file_);
    const MappedFile second(std::move(first));
    std::filesystem::resize_file(file_, 1);
    volatile std::byte last = second.bytes().back();
    (void)last;
  };
  EXPECT_EXIT(moved(), testing::ExitedWithCode(2), "weights: was truncated");
}

/// A mapping that is not ours: the default action follows.
TEST_F(MappedFaults, OtherFaultsKillAsBefore) {
  const auto foreign = [&] {
    { const MappedFile closed(file_); }
    const auto stream = std::unique_ptr<FILE, int (*)(FILE*)>(std::fopen(file_.c_str(), "rb"), std::fclose);
    void* memory = ::mmap(nullptr, 100'000, PROT_READ, MAP_PRIVATE, ::fileno(stream.get()), 0);
    std::filesystem::resize_file(file_, 1);
    volatile char last = static_cast<const char*>(memory)[99'999];
    (void)last;
  };
  EXPECT_EXIT(foreign(), testing::KilledBySignal(SIGBUS), "");
  const auto sent = [&] {
    const MappedFile mapped(file_);
    std::raise(SIGBUS);
  };
  EXPECT_EXIT(sent(), testing::KilledBySignal(SIGBUS), "");
}

}  // namespace
}  // namespace assay
