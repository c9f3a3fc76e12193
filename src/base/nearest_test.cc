#include "base/nearest.h"

#include <gtest/gtest.h>

#include <vector>

namespace assay {
namespace {

const std::vector<std::string> words = {"precision", "batch", "seq", "seconds", "seed"};

TEST(NearestWord, ASlipOfTheFingerFindsItsWord) {
  EXPECT_EQ(nearest_word("precison", words), "precision");
  EXPECT_EQ(nearest_word("batches", words), "batch");
  EXPECT_EQ(nearest_word("secnods", words), "seconds");
}

TEST(NearestWord, AKnownWordIsItsOwnNearest) {
  for (const std::string& word : words) EXPECT_EQ(nearest_word(word, words), word);
}

TEST(NearestWord, WhatIsLikeNothingFindsNothing) {
  EXPECT_EQ(nearest_word("quantisation", words), "");
  EXPECT_EQ(nearest_word("", words), "");
  EXPECT_EQ(nearest_word("precision", {}), "");
  EXPECT_EQ(did_you_mean("xyz", words), "");
}

}  // namespace
}  // namespace assay
