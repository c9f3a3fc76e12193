#include "model/changed_weights.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

/// Entries 1, 2, 3, ...
Weight counting(const std::string& name, const Shape& shape) {
  Weight weight;
  weight.name = name;
  weight.shape = shape;
  weight.load = [shape] {
    WeightData data;
    data.owned = Tensor(DType::f32, shape);
    for (std::int64_t i = 0; i < data.owned.count(); ++i) data.owned.as<float>()[i] = static_cast<float>(i + 1);
    data.view = data.owned.view();
    return data;
  };
  return weight;
}

std::vector<float> read_values(const Weights& weights, const std::string& name) {
  const WeightData data = weights.at(name).load();
  return {data.view.as<float>(), data.view.as<float>() + data.view.count()};
}

class ChangedWeights : public testing::Test {
 protected:
  ChangedWeights() {
    weights_.by_name["w"] = counting("w", {2, 3});
    weights_.by_name["b"] = counting("b", {2});
  }

  Weights weights_;
  std::shared_ptr<WeightChanges> changes_ = std::make_shared<WeightChanges>();
};

TEST_F(ChangedWeights, AreMultipliedByColumnAndByRow) {
  (*changes_)["w"] = {.by_column = {1, 10, 100}, .by_row = {2, 0.5F}};
  EXPECT_EQ(read_values(changed_weights(weights_, changes_), "w"), (std::vector<float>{2, 40, 600, 2, 25, 300}));
  EXPECT_EQ(read_values(weights_, "w"), (std::vector<float>{1, 2, 3, 4, 5, 6})) << "what they come from stays";
}

TEST_F(ChangedWeights, HaveEntriesAddedToAndMultiplied) {
  (*changes_)["b"] = {.added = {0.5F, -1}, .by_row = {3, 4}};
  const Weights changed = changed_weights(weights_, changes_);
  EXPECT_EQ(read_values(changed, "b"), (std::vector<float>{4.5F, 4}));
  EXPECT_EQ(read_values(changed, "w"), read_values(weights_, "w"));
}

/// A gain of 1 + b, which is multiplied.
TEST_F(ChangedWeights, AreMultipliedWithWhatStandsBesideThem) {
  const std::vector<float> before = read_values(weights_, "b");
  (*changes_)["b"] = {.by_row = {2, 0.5F}, .offset = 1};
  const std::vector<float> after = read_values(changed_weights(weights_, changes_), "b");
  EXPECT_EQ(after, (std::vector<float>{(before[0] + 1) * 2 - 1, (before[1] + 1) * 0.5F - 1}));
}

TEST_F(ChangedWeights, AreReadAsTheChangesThenAre) {
  (*changes_)["b"] = {.by_row = {3, 4}};
  const Weights changed = changed_weights(weights_, changes_);
  (*changes_)["b"].by_row = {1, 1};
  EXPECT_EQ(read_values(changed, "b"), read_values(weights_, "b"));
}

}  // namespace
}  // namespace assay
