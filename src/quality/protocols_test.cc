#include "quality/protocols.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "base/error.h"
#include "quality/loss.h"

namespace assay {
namespace {

using Ids = std::vector<std::int32_t>;
constexpr std::int32_t none = ignored_label;

Ids counting(int count) {
  Ids ids(static_cast<std::size_t>(count));
  std::iota(ids.begin(), ids.end(), 100);
  return ids;
}

ProtocolOptions window_of(std::int64_t window) {
  ProtocolOptions options;
  options.window = window;
  return options;
}

ProtocolOptions stride_of(std::int64_t window, std::int64_t stride) {
  ProtocolOptions options = window_of(window);
  options.protocol = Protocol::stride;
  options.stride = stride;
  return options;
}

/// A token a letter: a is 0, b is 1, ...
Tokenizer letters() {
  return parse_tokenizer_json(R"({"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false},
    "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "c": 2, "d": 3, "e": 4}, "merges": []}})",
                              "letters");
}

/// How often each id is a target, and with how many ids of its window before it at least.
struct Scoring {
  std::map<std::int32_t, int> times;
  std::int64_t least_context = 1 << 20;
};
Scoring scoring(const QualitySet& set) {
  Scoring result;
  for (const QualityBatch& batch : set.batches) {
    for (std::size_t i = 0; i < batch.targets.size(); ++i) {
      if (batch.targets[i] == none) continue;
      EXPECT_EQ(batch.targets[i], batch.ids[i + 1]) << "a position is scored on the id after it";
      ++result.times[batch.targets[i]];
      result.least_context = std::min(result.least_context, static_cast<std::int64_t>(i) % batch.extent.seq + 1);
    }
  }
  return result;
}

void expect_whole(const QualitySet& set) {
  for (const QualityBatch& batch : set.batches) {
    const auto count = static_cast<std::size_t>(batch.extent.batch * batch.extent.seq);
    EXPECT_EQ(batch.ids.size(), count);
    EXPECT_TRUE(batch.mask.empty() || batch.mask.size() == count);
  }
}

TEST(Windows, ScoreEveryIdButTheFirstOfEach) {
  const QualitySet set = windows(counting(10), window_of(4));
  EXPECT_EQ(set.protocol, "window 4");
  ASSERT_EQ(set.batches.size(), 2u);  // two whole windows, then the one of two ids that is left
  EXPECT_EQ(set.batches[0].ids, (Ids{100, 101, 102, 103, 104, 105, 106, 107}));
  EXPECT_EQ(set.batches[0].targets, (Ids{101, 102, 103, none, 105, 106, 107, none}));
  EXPECT_EQ(set.batches[1].ids, (Ids{108, 109}));
  EXPECT_EQ(set.batches[1].targets, (Ids{109, none}));
  expect_whole(set);
}

TEST(Windows, OfOneIdAreLeftOut) {
  EXPECT_EQ(windows(counting(9), window_of(4)).batches.size(), 1u);
  EXPECT_TRUE(windows(counting(1), window_of(4)).batches.empty());
  EXPECT_TRUE(windows({}, window_of(4)).batches.empty());
}

TEST(Windows, OfTheFirst8192IdsScoreAsManyAsTheReferenceSays) {
  for (const auto& [window, scored] : {std::pair(512, 8176U), std::pair(128, 8128U)}) {
    ProtocolOptions options = window_of(window);
    options.most_tokens = 8192;
    EXPECT_EQ(scoring(windows(counting(20000), options)).times.size(), scored);
  }
}

TEST(Windows, AreRunAsManyAtATimeAsAsked) {
  ProtocolOptions options = window_of(4);
  options.batch = 3;
  const QualitySet set = windows(counting(16), options);
  ASSERT_EQ(set.batches.size(), 2u);
  EXPECT_EQ(set.batches[0].extent.batch, 3);
  EXPECT_EQ(set.batches[1].extent.batch, 1);
}

TEST(Strides, ScoreEachIdOnceWithTheContextThatTheyPromise) {
  for (const auto& [window, stride] : {std::pair(8, 4), std::pair(8, 1), std::pair(8, 7), std::pair(5, 3)}) {
    for (int count = 2; count <= 40; ++count) {
      const QualitySet set = windows(counting(count), stride_of(window, stride));
      const Scoring result = scoring(set);
      expect_whole(set);
      EXPECT_EQ(result.times.size(), static_cast<std::size_t>(count - 1)) << window << "/" << stride << " " << count;
      for (const auto& [id, times] : result.times) EXPECT_EQ(times, 1) << id;
    }
  }
}

TEST(Strides, GiveEveryIdAfterTheFirstWindowAtLeastTheOverlapAsContext) {
  QualitySet set = windows(counting(100), stride_of(8, 3));
  EXPECT_EQ(set.protocol, "stride 8/3");
  // Without the first window, which scores its second id from one id of context.
  QualityBatch& first = set.batches.front();
  std::fill_n(first.targets.begin(), 8, none);
  EXPECT_EQ(scoring(set).least_context, 5);
}

TEST(Strides, MustMoveForwardAndOverlap) {
  EXPECT_THROW(windows(counting(10), stride_of(8, 8)), Error);
  EXPECT_THROW(windows(counting(10), stride_of(8, 0)), Error);
  EXPECT_THROW(windows(counting(10), window_of(1)), Error);
}

TEST(PaddedLines, AreCutAndPaddedAndMasked) {
  const QualitySet set = padded_lines("abc\n\n  \nabcdeabcde\na\n", letters(), 4, window_of(5));
  EXPECT_EQ(set.protocol, "padded-lines 5");
  ASSERT_EQ(set.batches.size(), 1u);
  const QualityBatch& batch = set.batches[0];
  EXPECT_EQ(batch.extent.batch, 3);  // blank lines are no rows
  EXPECT_EQ(batch.ids, (Ids{0, 1, 2, 4, 4, 0, 1, 2, 3, 4, 0, 4, 4, 4, 4}));
  EXPECT_EQ(batch.mask, (std::vector<std::uint8_t>{1, 1, 1, 0, 0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0}));
  // No target from or at padding: a line of one id has none.
  EXPECT_EQ(batch.targets, (Ids{1, 2, none, none, none, 1, 2, 3, 4, none, none, none, none, none, none}));
}

TEST(PaddedLines, EndBeforeTheLineThatWouldPassTheTokensAskedFor) {
  ProtocolOptions options = window_of(5);
  options.most_tokens = 4;
  const QualitySet set = padded_lines("abc\nab\na\n", letters(), 4, options);
  ASSERT_EQ(set.batches.size(), 1u);
  EXPECT_EQ(set.batches[0].extent.batch, 1);
}

TEST(GivenTokens, OfALanguageModelScoreRealNextIds) {
  const TokenBatch tokens = {2, 3, {1, 2, 0, 3, 4, 5}, {1, 1, 0, 1, 1, 1}, {}};
  const QualitySet set = given_tokens(tokens, Scored::next_tokens, 8);
  ASSERT_EQ(set.batches.size(), 1u);
  EXPECT_EQ(set.batches[0].targets, (Ids{2, none, none, 4, 5, none}));
  EXPECT_EQ(set.protocol, "rows of 3 as given");
}

TEST(GivenTokens, UnderLeftPaddingScoreNothingFromPadding) {
  const TokenBatch tokens = {1, 4, {0, 0, 7, 8}, {0, 0, 1, 1}, {}};
  EXPECT_EQ(given_tokens(tokens, Scored::next_tokens, 1).batches[0].targets, (Ids{none, none, 8, none}));
}

TEST(GivenTokens, OfAClassifierKeepRowsAndLabelsTogether) {
  const TokenBatch tokens = {3, 2, {1, 2, 3, 4, 5, 6}, {}, {0, 1, 0}};
  const QualitySet set = given_tokens(tokens, Scored::labels, 2);
  ASSERT_EQ(set.batches.size(), 2u);
  EXPECT_EQ(set.batches[0].targets, (Ids{0, 1}));
  EXPECT_EQ(set.batches[1].targets, (Ids{0}));
  EXPECT_EQ(set.batches[1].ids, (Ids{5, 6}));
  EXPECT_TRUE(set.batches[1].mask.empty());
}

TEST(GivenTokens, OfAClassifierNeedOneLabelARow) {
  const TokenBatch tokens = {2, 2, {1, 2, 3, 4}, {}, {0, 1, 0, 1}};
  EXPECT_THROW(given_tokens(tokens, Scored::labels, 2), Error);
}

TEST(Sentences, ArePaddedToTheLongestOfTheirBatch) {
  const LabelledSet data = {{"ab", "abcd", "a"}, {1, 0, 1}};
  const QualitySet set = sentences(data, letters(), 8, 2);
  EXPECT_EQ(set.protocol, "batches of 2, padded to the longest");
  ASSERT_EQ(set.batches.size(), 2u);
  EXPECT_EQ(set.batches[0].extent.seq, 4);
  EXPECT_EQ(set.batches[0].mask, (std::vector<std::uint8_t>{1, 1, 0, 0, 1, 1, 1, 1}));
  EXPECT_EQ(set.batches[0].targets, (Ids{1, 0}));
  EXPECT_EQ(set.batches[1].ids, (Ids{0}));
  EXPECT_TRUE(set.batches[1].mask.empty()) << "nothing is padded";
}

TEST(Sentences, OneAtATimeHaveNoPadding) {
  const QualitySet set = sentences({{"ab", "abcd"}, {1, 0}}, letters(), 8, 1);
  EXPECT_EQ(set.protocol, "one sentence at a time");
  for (const QualityBatch& batch : set.batches) EXPECT_TRUE(batch.mask.empty());
}

TEST(Sentences, AreNeverCut) {
  EXPECT_THROW(sentences({{"abcde"}, {0}}, letters(), 4, 1), Error);
}

/// letters() with ids around every row, and pairs whose second text is of type 1.
Tokenizer letters_between_specials() {
  Tokenizer tokenizer = letters();
  tokenizer.prefix = {10};
  tokenizer.suffix = {11};
  using enum PairPiece::Kind;
  tokenizer.pair = {{special, 0, {10}}, {first, 0}, {special, 0, {11}}, {second, 1}, {special, 1, {11}}};
  return tokenizer;
}

const LabelledSet two_pairs = {
    .sentences = {"ab", "c"}, .labels = {1, 0}, .seconds = {"c", "de"}, .numbers = {2.5, 0.5}};

TEST(Sentences, OfPairsStandInOneRowWithTheirTypes) {
  const QualitySet set = sentences(two_pairs, letters_between_specials(), 8, 2);
  ASSERT_EQ(set.batches.size(), 1U);
  EXPECT_EQ(set.batches[0].ids, (Ids{10, 0, 1, 11, 2, 11, 10, 2, 11, 3, 4, 11}));
  EXPECT_EQ(set.batches[0].token_types, (Ids{0, 0, 0, 0, 1, 1, 0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(set.batches[0].targets, (Ids{1, 0}));
}

TEST(Sentences, OfPairsStandApartWhereEmbeddingsAreCompared) {
  QualitySet set = sentences_apart(two_pairs, letters_between_specials(), 8, 1);
  EXPECT_EQ(set.judged, Judged::similarities);
  ASSERT_EQ(set.batches.size(), 2U);
  EXPECT_EQ(set.batches[0].ids, (Ids{10, 0, 1, 11, 10, 2, 11, 0}));
  EXPECT_EQ(set.batches[0].mask, (std::vector<std::uint8_t>{1, 1, 1, 1, 1, 1, 1, 0}));
  EXPECT_EQ(set.numbers, (std::vector<double>{2.5, 0.5}));
  keep_first_rows(set, 8);
  EXPECT_EQ(set.batches.size(), 1U) << "a pair is kept whole or not at all";
  EXPECT_EQ(set.numbers, (std::vector<double>{2.5}));
}

TEST(PseudoPerplexity, MasksEachIdByItselfAndScoresItWhereItStood) {
  const MaskedAs masked = {.mask = 50, .before = {10}, .after = {11}};
  ProtocolOptions options = window_of(5);
  options.batch = 4;
  const QualitySet set = masked_windows(counting(7), masked, options);
  EXPECT_EQ(set.judged, Judged::masked_classes);
  EXPECT_EQ(set.windows, (std::vector<std::int32_t>{3, 3, 1}));
  std::map<std::int32_t, int> times;
  for (const QualityBatch& batch : set.batches) {
    for (std::size_t i = 0; i < batch.ids.size(); ++i) {
      EXPECT_EQ(batch.ids[i] == masked.mask, batch.targets[i] != none) << "the target's place is masked, no other";
      if (batch.targets[i] != none) ++times[batch.targets[i]];
    }
    EXPECT_EQ(batch.ids.front(), 10);
    EXPECT_EQ(batch.ids.back(), 11);
  }
  EXPECT_EQ(times.size(), 7U);
  for (const auto& [id, count] : times) EXPECT_EQ(count, 1) << id;
  EXPECT_THROW(masked_windows(counting(7), masked, window_of(2)), Error) << "no room between the specials";
}

TEST(PseudoPerplexity, OfLinesCutsWhatDoesNotFitAndCountsTheirIds) {
  const Tokenizer tokenizer = letters_between_specials();
  const MaskedAs masked = {.mask = 50, .before = tokenizer.prefix, .after = tokenizer.suffix};
  ProtocolOptions options = window_of(4);
  options.most_tokens = 3;
  const QualitySet set = masked_lines("abc\n\nd\ne\n", tokenizer, masked, options);
  EXPECT_EQ(set.windows, (std::vector<std::int32_t>{2, 1}));
  EXPECT_EQ(set.tokens, 3);
  EXPECT_EQ(set.taken, Taken::beginning);
  EXPECT_EQ(set.batches[0].ids, (Ids{10, 50, 1, 11, 10, 0, 50, 11}));
}

TEST(TaggedWords, AreScoredAtTheirFirstToken) {
  const TaggedSet tagged = {{{{"ab", "", "c"}, {1, 2, 0}, "F:1"}, {{"d"}, {3}, "F:2"}}};
  const QualitySet set = tagged_words(tagged, letters_between_specials(), 8, 2);
  EXPECT_EQ(set.batches[0].ids.size(), 2U * 5U);
  EXPECT_EQ(set.batches[0].targets, (Ids{none, 1, none, 0, none, none, 3, none, none, none}));
  EXPECT_EQ(set.batches[0].mask, (std::vector<std::uint8_t>{1, 1, 1, 1, 1, 1, 1, 1, 0, 0}));
  EXPECT_THROW(tagged_words(tagged, letters_between_specials(), 4, 2), Error) << "nothing is cut";
}

TEST(GivenTokens, OfAModelThatLabelsTokensAreScoredWhereTheyStand) {
  TokenBatch tokens;
  tokens.batch = 2;
  tokens.seq = 2;
  tokens.input_ids = {5, 6, 7, 8};
  tokens.labels = {1, none, 0, 2};
  tokens.token_types = {0, 1, 0, 1};
  const QualitySet set = given_tokens(tokens, Scored::token_labels, 1);
  EXPECT_EQ(set.batches[0].targets, (Ids{1, none}));
  EXPECT_EQ(set.batches[1].targets, (Ids{0, 2}));
  EXPECT_EQ(set.batches[1].token_types, (Ids{0, 1}));
}

TEST(Protocols, HaveNames) {
  EXPECT_STREQ(name(Protocol::window), "window");
  EXPECT_STREQ(name(Protocol::stride), "stride");
  EXPECT_STREQ(name(Protocol::padded_lines), "padded-lines");
}

TEST(GivenTokens, LabelsByTokenAreWhatALanguageModelScores) {
  TokenBatch tokens;
  tokens.batch = 2;
  tokens.seq = 3;
  tokens.input_ids = {5, 6, 7, 8, 9, 10};
  tokens.labels = {none, none, 7, none, 9, none};
  const QualitySet set = given_tokens(tokens, Scored::next_tokens, 2);
  EXPECT_EQ(set.batches[0].targets, (Ids{none, 7, none, 9, none, none})) << "each stands before its label";
}

TEST(FirstRows, AreWholeAndHoldNoMoreRealIdsThanAsked) {
  TokenBatch tokens;
  tokens.batch = 5;
  tokens.seq = 3;
  tokens.input_ids = {1, 2, 3, 4, 5, 0, 6, 7, 8, 9, 1, 2, 3, 4, 5};
  tokens.attention_mask = {1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  const auto kept = [&](std::int64_t most_tokens) {
    QualitySet set = given_tokens(tokens, Scored::next_tokens, 2);
    keep_first_rows(set, most_tokens);
    std::int64_t rows = 0;
    for (const QualityBatch& batch : set.batches) {
      rows += batch.extent.batch;
      EXPECT_EQ(batch.ids.size(), static_cast<std::size_t>(3 * batch.extent.batch));
      EXPECT_EQ(batch.mask.size(), batch.ids.size());
      EXPECT_EQ(batch.targets.size(), batch.ids.size());
    }
    EXPECT_EQ(set.taken, rows == 5 ? Taken::all : Taken::beginning);
    return std::pair(rows, set.tokens);
  };
  EXPECT_EQ(kept(8), std::pair(std::int64_t{3}, std::int64_t{8}));
  EXPECT_EQ(kept(10), std::pair(std::int64_t{3}, std::int64_t{8}));
  EXPECT_EQ(kept(5), std::pair(std::int64_t{2}, std::int64_t{5})) << "a batch that ends with the rows";
  EXPECT_EQ(kept(1), std::pair(std::int64_t{1}, std::int64_t{3})) << "one row at least";
  EXPECT_EQ(kept(100), std::pair(std::int64_t{5}, std::int64_t{14}));
}

}  // namespace
}  // namespace assay
