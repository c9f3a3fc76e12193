#include "model/end_ids.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/write_file.h"
#include "model/testing.h"

namespace assay {
namespace {

class EndIds : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "/assay-end-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void write(const char* file, const char* text) const { write_file_atomically(folder_ / file, text); }

  std::filesystem::path folder_;
};

using Ids = std::vector<std::int32_t>;

TEST_F(EndIds, ComeFromTheGenerationsConfigurationFirst) {
  EXPECT_EQ(end_ids(folder_), Ids());
  write("config.json", R"({"eos_token_id": 2})");
  EXPECT_EQ(end_ids(folder_), Ids{2});
  EXPECT_EQ(end_ids(folder_ / "model.safetensors"), Ids{2});
  write("generation_config.json", R"({"eos_token_id": [7, 9]})");
  EXPECT_EQ(end_ids(folder_), (Ids{7, 9}));
  write("generation_config.json", R"({"eos_token_id": null})");
  EXPECT_EQ(end_ids(folder_), Ids{2});
}

TEST_F(EndIds, AModelOfImagesHasThemBesideItsText) {
  write("config.json", R"({"model_type": "gemma3", "text_config": {"eos_token_id": [4, 5]}})");
  EXPECT_EQ(end_ids(folder_), (Ids{4, 5}));
  write("config.json", R"({"model_type": "gemma3", "eos_token_id": 6, "text_config": {"eos_token_id": [4, 5]}})");
  EXPECT_EQ(end_ids(folder_), Ids{6});
  write("config.json", R"({"model_type": "gemma3", "eos_token_id": null, "text_config": {}})");
  EXPECT_EQ(end_ids(folder_), Ids());
}

TEST_F(EndIds, WhatIsNoIdIsNamedWithItsFile) {
  write("generation_config.json", R"({"eos_token_id": [7, "x"]})");
  try {
    end_ids(folder_);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.what(),
              (folder_ / "generation_config.json").string() + ": 'eos_token_id' holds something else than a token id");
  }
  write("generation_config.json", "[]");
  EXPECT_THROW(end_ids(folder_), Error);
}

}  // namespace
}  // namespace assay
