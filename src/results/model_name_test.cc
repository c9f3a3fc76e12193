#include "results/model_name.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

TEST(ModelName, IsTheLastFolderOfAPath) {
  EXPECT_EQ(shown_model_name("gpt2"), "gpt2");
  EXPECT_EQ(shown_model_name("/work/models/smollm2-135m"), "smollm2-135m");
  EXPECT_EQ(shown_model_name("./models/smollm2-135m/"), "smollm2-135m");
  EXPECT_EQ(shown_model_name("models/a b/weights.Q4_1.gguf"), "weights.Q4_1.gguf");
  EXPECT_EQ(shown_model_name("/home/u/hub/models--Qwen--Qwen3-0.6B/snapshots/0123abcd"), "Qwen3-0.6B");
  EXPECT_EQ(shown_model_name("."), ".");
  EXPECT_EQ(shown_model_name("/"), "/");
  EXPECT_EQ(shown_model_name(""), "");
}

TEST(ModelName, HasTheFoldersThatTellItFromOthers) {
  const std::vector<std::string> asked = {"/x/a/model", "/x/b/model", "/x/b/other", "gpt2"};
  const auto names = distinct_model_names(asked);
  EXPECT_EQ(names.at("/x/a/model"), "a/model");
  EXPECT_EQ(names.at("/x/b/model"), "b/model");
  EXPECT_EQ(names.at("/x/b/other"), "other");
  EXPECT_EQ(names.at("gpt2"), "gpt2");
  const std::vector<std::string> one_place = {"/x/model", "/x/model/"};
  EXPECT_NE(distinct_model_names(one_place).at("/x/model"), distinct_model_names(one_place).at("/x/model/"));
}

}  // namespace
}  // namespace assay
