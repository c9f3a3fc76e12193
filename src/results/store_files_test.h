#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "base/testing.h"
#include "results/made_up_test.h"
#include "results/store.h"

namespace assay {

/// A folder of its own, with room for a store; gone after the test.
class StoreFolder : public testing::Test {
 protected:
  static RunFacts run_facts() { return {"assay bench 'a model'", "f00d", R"({"processor": "made up"})"}; }

  /// What a user would be told; empty where nothing was wrong.
  template <typename Work>
  static std::string failure(Work&& work) {
    try {
      work();
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ExitCode::user) << e.what();
      return e.what();
    }
    return "";
  }

  TemporaryFolder temporary_;
  std::filesystem::path folder_ = temporary_.path();
  std::filesystem::path file_ = folder_ / "results.db";
};

}  // namespace assay
