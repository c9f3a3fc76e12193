#pragma once

// For tests only.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/file.h"

namespace assay {

/// Models and data that some tests need; absent on most machines.
inline const std::filesystem::path shared_folder = ASSAY_SHARED_DIR;

/// The message of the error of `code` that `action` throws. Fails the test where it throws none, more than one line, or
/// a line that nobody would read.
template <typename Action>
std::string error_of(ExitCode code, Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_EQ(error.code(), code) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    EXPECT_LT(message.size(), 1000U) << message;
    return message;
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

template <typename Action>
std::string user_error_of(Action&& action) {
  return error_of(ExitCode::user, std::forward<Action>(action));
}

/// A fresh folder with a space and an umlaut in its name; gone when the object goes.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = testing::TempDir() + "/assay tëst XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) ADD_FAILURE() << "no temporary folder";
    path_ = name;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }

  const std::filesystem::path& path() const { return path_; }
  /// Writes a file into it, folders on the way included, and gives its path.
  std::filesystem::path file(const std::filesystem::path& name, std::string_view content) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    write_file_atomically(path_ / name, content);
    return path_ / name;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace assay
