#include "model/pooling.h"

#include <gtest/gtest.h>

#include "model/testing.h"

namespace assay {
namespace {

class SentencePooling : public testing::Test {
 protected:
  void write(const std::string& file, const std::string& text) const { folder_.file(file, text); }
  ModelConfig read(Task task) const {
    ModelConfig config;
    config.family = find_family("bert");
    config.task = task;
    read_pooling(folder_.path(), config);
    return config;
  }
  std::string fault() const {
    return user_error_of([&] { read(Task::embedding); });
  }

  TemporaryFolder folder_;
};

TEST_F(SentencePooling, IsTheMeanWhereNothingSaysOtherwise) {
  EXPECT_EQ(read(Task::embedding).pooling, Pooling::mean);
  EXPECT_EQ(read(Task::masked_language_model).task, Task::masked_language_model);
}

TEST_F(SentencePooling, IsReadInBothSpellings) {
  write("1_Pooling/config.json", R"({"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false})");
  EXPECT_EQ(read(Task::embedding).pooling, Pooling::first);
  EXPECT_EQ(read(Task::masked_language_model).task, Task::embedding) << "its files say what it is for";
  EXPECT_EQ(read(Task::classification).task, Task::classification);
  write("1_Pooling/config.json", R"({"pooling_mode": "mean"})");
  EXPECT_EQ(read(Task::embedding).pooling, Pooling::mean);
}

TEST_F(SentencePooling, OfAnotherKindIsRefusedByName) {
  write("1_Pooling/config.json", R"({"pooling_mode_max_tokens": true})");
  EXPECT_NE(fault().find("config.json: pools by max; mean and cls"), std::string::npos) << fault();
  write("1_Pooling/config.json", R"({"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": true})");
  EXPECT_NE(fault().find("pools by mean and cls;"), std::string::npos) << fault();
  write("1_Pooling/config.json", "{}");
  EXPECT_NE(fault().find("no mode that is known"), std::string::npos) << fault();
}

TEST_F(SentencePooling, StandsWhereTheModulesSay) {
  write("2_Pool/config.json", R"({"pooling_mode": "cls"})");
  write("modules.json", R"([{"type": "sentence_transformers.models.Transformer", "path": ""},
    {"type": "sentence_transformers.models.Pooling", "path": "2_Pool"},
    {"type": "sentence_transformers.models.Normalize", "path": "3_Normalize"}])");
  EXPECT_EQ(read(Task::embedding).pooling, Pooling::first);
  write("modules.json", R"([{"type": "sentence_transformers.models.Dense", "path": "2_Dense"}])");
  EXPECT_NE(fault().find("modules.json: the module 'sentence_transformers.models.Dense'"), std::string::npos)
      << fault();
}

}  // namespace
}  // namespace assay
