#pragma once

// For the tests of this room only.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/file.h"

namespace assay {

/// Each test has a folder of its own (with a space and an umlaut in its name), and in it the cache.
class WithCache : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "/assay hüb XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    ::setenv("XDG_CACHE_HOME", (folder_ / "cache").c_str(), 1);
  }
  void TearDown() override {
    ::unsetenv("XDG_CACHE_HOME");
    std::filesystem::remove_all(folder_);
  }

  std::filesystem::path file(const std::filesystem::path& name, std::string_view content) const {
    std::filesystem::create_directories((folder_ / name).parent_path());
    write_file_atomically(folder_ / name, content);
    return folder_ / name;
  }
  /// Everything in the cache, hidden names too.
  std::vector<std::string> cache_content() const {
    std::vector<std::string> names;
    if (!std::filesystem::exists(folder_ / "cache")) return names;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_ / "cache")) {
      names.push_back(std::filesystem::relative(entry.path(), folder_ / "cache").string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  std::filesystem::path folder_;
};

/// The error of `code` that `action` throws: its message. Fails the test where it throws none, or more than one line.
template <typename Action>
std::string error_of(ExitCode code, Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

}  // namespace assay
