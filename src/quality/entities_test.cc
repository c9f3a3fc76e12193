#include "quality/entities.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

const std::vector<std::string> people_and_places = {"O", "B-PER", "I-PER", "B-LOC", "I-LOC"};

double f1_of(std::vector<std::int32_t> targets, std::vector<std::int32_t> answers, std::vector<std::int32_t> windows) {
  QualityRows quality;
  quality.targets = std::move(targets);
  quality.answers = std::move(answers);
  quality.windows = std::move(windows);
  return entity_f1(quality, people_and_places);
}

TEST(Entities, AreRightWhereKindAndBothEndsAgree) {
  // "John Smith visits New York": the first entity is right, of the second half is found.
  EXPECT_DOUBLE_EQ(f1_of({1, 2, 0, 3, 4}, {1, 2, 0, 3, 0}, {5}), 0.5);
  EXPECT_DOUBLE_EQ(f1_of({1, 2, 0, 3, 4}, {1, 2, 0, 1, 2}, {5}), 0.5);
  EXPECT_DOUBLE_EQ(f1_of({1, 2, 0, 3, 4}, {1, 2, 0, 3, 4}, {5}), 1);
  EXPECT_DOUBLE_EQ(f1_of({1, 2, 0, 3, 4}, {0, 0, 0, 0, 0}, {5}), 0);
}

TEST(Entities, CountPrecisionAndRecallTogether) {
  // Two entities expected, three found, one of them right: 2 * (1/3 * 1/2) / (1/3 + 1/2).
  EXPECT_DOUBLE_EQ(f1_of({1, 0, 3, 0, 0}, {1, 0, 0, 3, 1}, {5}), 0.4);
}

TEST(Entities, BeginAtAnInsideThatNothingOfItsKindStandsBefore) {
  EXPECT_DOUBLE_EQ(f1_of({1, 2, 0}, {2, 2, 0}, {3}), 1);
  EXPECT_DOUBLE_EQ(f1_of({1, 3, 0}, {2, 4, 0}, {3}), 1);
  EXPECT_DOUBLE_EQ(f1_of({1, 1, 0}, {1, 2, 0}, {3}), 0) << "two of one word are not one of two";
}

TEST(Entities, EndWithTheirSentence) {
  EXPECT_DOUBLE_EQ(f1_of({0, 1, 2, 0}, {0, 1, 2, 0}, {2, 2}), 1);
  EXPECT_DOUBLE_EQ(f1_of({0, 1, 1, 0}, {0, 1, 2, 0}, {2, 2}), 1) << "the second begins one in either way";
}

TEST(Entities, AreNoneWithoutAny) {
  EXPECT_DOUBLE_EQ(f1_of({0, 0}, {0, 0}, {2}), 0);
}

TEST(Entities, HaveTagsOfOneNotation) {
  EXPECT_TRUE(are_entity_tags(people_and_places));
  EXPECT_FALSE(are_entity_tags(std::vector<std::string>{"O", "NOUN"}));
  EXPECT_FALSE(are_entity_tags(std::vector<std::string>{"B-", "O"}));
  EXPECT_FALSE(are_entity_tags({}));
}

}  // namespace
}  // namespace assay
