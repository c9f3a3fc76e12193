#include "model/fresh_head.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "model/random_weights.h"
#include "model/testing.h"

namespace assay {
namespace {

Model small_bert(Task task) {
  Model model;
  model.name = "small";
  model.config = small_gpt2();
  model.config.family = find_family("bert");
  model.config.task = task;
  model.config.token_types = 2;
  model.weights = random_weights(build_program(model.config, {}), model.config, 3);
  return model;
}

std::vector<float> values(const Model& model, const std::string& name) {
  const WeightData data = model.weights.at(name).load();
  return {data.view.as<float>(), data.view.as<float>() + data.view.count()};
}

TEST(FreshHead, TheEncoderStaysAndTheHeadIsNew) {
  for (const Task task : {Task::embedding, Task::classification}) {
    const Model before = small_bert(task);
    const Model after = with_fresh_head(before, {.labels = 5, .seed = 4});
    EXPECT_EQ(after.config.task, Task::classification);
    EXPECT_EQ(after.weights.at("classifier.weight").shape, (Shape{5, 32}));
    const std::string query = "encoder.layer.1.attention.self.query.weight";
    EXPECT_EQ(values(after, query), values(before, query));
    if (task == Task::classification) {
      EXPECT_NE(values(after, "pooler.dense.weight"), values(before, "pooler.dense.weight"));
    }
    EXPECT_EQ(values(after, "classifier.bias"), std::vector<float>(5, 0.0F));
  }
}

TEST(FreshHead, TheSeedDrawsIt) {
  const Model model = small_bert(Task::embedding);
  const auto head = [&](std::uint64_t seed) {
    return values(with_fresh_head(model, {.labels = 2, .seed = seed}), "classifier.weight");
  };
  EXPECT_EQ(head(1), head(1));
  EXPECT_NE(head(1), head(2));
}

TEST(FreshHead, ALanguageModelTakesNone) {
  Model model;
  model.name = "gpt2";
  model.config = small_gpt2();
  EXPECT_NE(user_error_of([&] { with_fresh_head(model, {}); }).find("language model"), std::string::npos);
}

}  // namespace
}  // namespace assay
