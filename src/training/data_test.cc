#include "training/data.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "model/testing.h"

namespace assay {
namespace {

std::vector<std::int32_t> counting(std::int32_t count) {
  std::vector<std::int32_t> ids(static_cast<std::size_t>(count));
  std::iota(ids.begin(), ids.end(), 0);
  return ids;
}

/// Sentence i has 1 + i % 23 ids, all of them i.
TokenisedSet sentences_of_many_lengths(std::int32_t count) {
  TokenisedSet set;
  for (std::int32_t i = 0; i < count; ++i) {
    set.ids.emplace_back(static_cast<std::size_t>(1 + i % 23), i);
    set.labels.push_back(i % 2);
  }
  return set;
}

TEST(RandomWindows, EveryPositionPredictsTheIdAfterIt) {
  const TrainingData data = random_windows(counting(50), {3, 8}, 1, "text");
  for (std::int64_t step = 0; step < 100; ++step) {
    const TrainingBatch batch = data.batch(step);
    ASSERT_EQ(batch.input_ids.size(), 24U);
    for (std::size_t i = 0; i < batch.input_ids.size(); ++i) EXPECT_EQ(batch.labels[i], batch.input_ids[i] + 1);
  }
}

TEST(RandomWindows, AStepIsAFunctionOfSeedAndStepAlone) {
  const TrainingData data = random_windows(counting(1000), {2, 8}, 1, "text");
  const TrainingData again = random_windows(counting(1000), {2, 8}, 1, "text");
  const TrainingData other = random_windows(counting(1000), {2, 8}, 2, "text");
  EXPECT_NE(data.batch(3).input_ids, data.batch(4).input_ids);
  EXPECT_EQ(data.batch(3).input_ids, again.batch(3).input_ids) << "asked first, or after others";
  EXPECT_NE(data.batch(3).input_ids, other.batch(3).input_ids);
}

TEST(RandomWindows, TheFirstAndTheLastIdAreReached) {
  const TrainingData data = random_windows(counting(10), {1, 8}, 1, "text");
  std::set<std::int32_t> starts;
  for (std::int64_t step = 0; step < 50; ++step) starts.insert(data.batch(step).input_ids[0]);
  EXPECT_EQ(starts, (std::set<std::int32_t>{0, 1}));
}

TEST(RandomWindows, ATextShorterThanAWindowIsRefused) {
  EXPECT_NE(
      user_error_of([] { random_windows(counting(8), {1, 8}, 1, "short.txt"); }).find("short.txt: holds 8 tokens"),
      std::string::npos);
}

TEST(LabelledBatches, AnEpochHasEverySentenceOnce) {
  const TrainingData data = labelled_batches(sentences_of_many_lengths(1003), 8, 64, 1);
  EXPECT_EQ(data.steps_an_epoch, 126);
  for (const std::int64_t epoch : {0, 1}) {
    std::multiset<std::int32_t> seen;
    for (std::int64_t step = 0; step < data.steps_an_epoch; ++step) {
      const TrainingBatch batch = data.batch(epoch * data.steps_an_epoch + step);
      for (std::int64_t row = 0; row < batch.extent.batch; ++row) {
        const std::int32_t sentence = batch.input_ids[static_cast<std::size_t>(row * batch.extent.seq)];
        seen.insert(sentence);
        EXPECT_EQ(batch.labels[static_cast<std::size_t>(row)], sentence % 2);
      }
    }
    const std::vector<std::int32_t> all = counting(1003);
    EXPECT_EQ(seen, std::multiset<std::int32_t>(all.begin(), all.end()));
  }
}

TEST(LabelledBatches, RowsOfABatchAreOfSimilarLengthAndPaddedToEights) {
  const TrainingData data = labelled_batches(sentences_of_many_lengths(800), 8, 20, 1);
  std::int64_t padding = 0;
  std::int64_t positions = 0;
  for (std::int64_t step = 0; step < data.steps_an_epoch; ++step) {
    const TrainingBatch batch = data.batch(step);
    EXPECT_TRUE(batch.extent.seq % 8 == 0 || batch.extent.seq == 20) << "or as long as the model reads";
    positions += static_cast<std::int64_t>(batch.attention_mask.size());
    for (const std::uint8_t real : batch.attention_mask) padding += real == 0 ? 1 : 0;
  }
  EXPECT_LT(padding, positions / 2);
}

TEST(LabelledBatches, EpochsDifferAndComeAgain) {
  const TrainingData data = labelled_batches(sentences_of_many_lengths(200), 8, 64, 1);
  const TrainingBatch first = data.batch(0);
  EXPECT_NE(first.input_ids, data.batch(data.steps_an_epoch).input_ids);
  EXPECT_EQ(first.input_ids, data.batch(0).input_ids);
}

TEST(Split, PartsHoldTheRowsInOrder) {
  const TrainingBatch batch = random_windows(counting(100), {5, 4}, 1, "text").batch(0);
  std::vector<std::int32_t> ids;
  std::int64_t counted = 0;
  const std::vector<TrainingBatch> parts = split(batch, 3);
  ASSERT_EQ(parts.size(), 3U);
  for (const TrainingBatch& part : parts) {
    EXPECT_EQ(static_cast<std::int64_t>(part.input_ids.size()), part.extent.batch * part.extent.seq);
    ids.insert(ids.end(), part.input_ids.begin(), part.input_ids.end());
    counted += counted_labels(part);
  }
  EXPECT_EQ(ids, batch.input_ids);
  EXPECT_EQ(counted, counted_labels(batch));
  EXPECT_EQ(split(batch, 99).size(), 5U) << "no part without a row";
}

}  // namespace
}  // namespace assay
