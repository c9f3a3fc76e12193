#pragma once

// For the tests of this room only.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "base/testing.h"

namespace assay {

/// Each test has a folder of its own (with a space and an umlaut in its name), and in it the cache.
class WithCache : public testing::Test {
 protected:
  void SetUp() override { ::setenv("XDG_CACHE_HOME", (folder_ / "cache").c_str(), 1); }
  void TearDown() override { ::unsetenv("XDG_CACHE_HOME"); }

  std::filesystem::path file(const std::filesystem::path& name, std::string_view content) const {
    return temporary_.file(name, content);
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

  TemporaryFolder temporary_;
  std::filesystem::path folder_ = temporary_.path();
};

}  // namespace assay
