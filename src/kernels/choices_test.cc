#include "kernels/choices.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/testing.h"

namespace assay {
namespace {

class Choices : public testing::Test {
 protected:
  void SetUp() override { setenv("XDG_CACHE_HOME", folder_.path().c_str(), 1); }
  void TearDown() override { unsetenv("XDG_CACHE_HOME"); }
  TemporaryFolder folder_;
  const KernelChoice fastest_{{1, 0xffffffffffffffff}, "fastest of 8"};
};

TEST_F(Choices, AreFoundAgainByALaterRun) {
  KernelChoices("library", "a GPU").keep("shape", fastest_);
  const KernelChoices later("library", "a GPU");
  EXPECT_EQ(later.fault(), "");
  ASSERT_NE(later.find("shape"), nullptr);
  EXPECT_EQ(*later.find("shape"), fastest_);
  EXPECT_EQ(later.find("another shape"), nullptr);
}

TEST_F(Choices, OfAnotherDriverAreNotFound) {
  KernelChoices("library", "a GPU, driver 1").keep("shape", fastest_);
  EXPECT_EQ(KernelChoices("library", "a GPU, driver 2").find("shape"), nullptr);
}

TEST_F(Choices, OfTwoProcessesAtOnceAreBothKept) {
  KernelChoices one("library", "a GPU");
  KernelChoices two("library", "a GPU");
  one.keep("first", fastest_);
  two.keep("second", fastest_);
  const KernelChoices later("library", "a GPU");
  EXPECT_NE(later.find("first"), nullptr);
  EXPECT_NE(later.find("second"), nullptr);
}

TEST_F(Choices, ABadFileIsNamedAndReplaced) {
  const std::filesystem::path file = KernelChoices("library", "a GPU").file();
  std::filesystem::create_directories(file.parent_path());
  for (const char* content :
       {"{", "[]", "{\"made_for\": \"a GPU\"}", "{\"made_for\": \"an older GPU\", \"choices\": {}}"}) {
    write_file_atomically(file, content);
    KernelChoices choices("library", "a GPU");
    EXPECT_EQ(choices.fault().find(file.string()), 0U) << content << ": " << choices.fault();
    EXPECT_EQ(choices.find("shape"), nullptr);
    choices.keep("shape", fastest_);
    EXPECT_EQ(KernelChoices("library", "a GPU").fault(), "");
  }
}

TEST_F(Choices, WithoutAFolderToKeepThemInTheRunGoesOn) {
  write_file_atomically(folder_.path() / "assay", "a file where the folder should be");
  KernelChoices choices("library", "a GPU");
  choices.keep("shape", fastest_);
  EXPECT_NE(choices.find("shape"), nullptr);
}

}  // namespace
}  // namespace assay
