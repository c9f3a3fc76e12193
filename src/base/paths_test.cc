#include "base/paths.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/folders.h"
#include "base/testing.h"

namespace assay {
namespace {

/// Of any length: main cuts what is shown.
template <typename Action>
std::string said_of(Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::user);
    return error.what();
  }
  return "nothing was thrown";
}

TEST(Paths, WhatCannotBeToldIsAUserErrorThatNamesThePath) {
  const TemporaryFolder folder;
  const std::filesystem::path loop = folder.path() / "loop";
  std::filesystem::create_symlink("loop", loop);
  const std::filesystem::path too_long(std::string(5000, 'n'));
  for (const std::filesystem::path& path : {too_long, loop / "inside"}) {
    EXPECT_NE(said_of([&] { is_there(path); }).find(path.string()), std::string::npos);
    EXPECT_NE(said_of([&] { is_folder(path); }).find(path.string()), std::string::npos);
  }
}

TEST(Paths, ALinkThatLeadsNowhereIsThereAndNoFolder) {
  const TemporaryFolder folder;
  std::filesystem::create_symlink("nowhere", folder.path() / "link");
  EXPECT_TRUE(is_there(folder.path() / "link"));
  EXPECT_FALSE(is_folder(folder.path() / "link"));
  EXPECT_FALSE(is_there(folder.path() / "absent"));
  EXPECT_TRUE(is_folder(folder.path()));
}

TEST(Paths, EndInLettersOfAnyCase) {
  EXPECT_TRUE(has_ending("models.x/m.gguf", ".gguf"));
  EXPECT_TRUE(has_ending("m.GGuF", ".gguf"));
  EXPECT_FALSE(has_ending("m.gguf/config.json", ".gguf"));
  EXPECT_FALSE(has_ending("gguf", ".gguf"));
}

TEST(Paths, TemporaryFilesGoWhereTheEnvironmentSays) {
  const char* before = std::getenv("TMPDIR");
  const std::string kept = before == nullptr ? "" : before;
  ::setenv("TMPDIR", "", 1);
  EXPECT_EQ(temporary_folder(), "/tmp");
  ::setenv("TMPDIR", "/no/such/folder", 1);
  EXPECT_EQ(user_error_of([] { temporary_folder(); }), "TMPDIR: /no/such/folder is no folder");
  before == nullptr ? ::unsetenv("TMPDIR") : ::setenv("TMPDIR", kept.c_str(), 1);
}

}  // namespace
}  // namespace assay
