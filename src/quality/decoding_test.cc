#include "quality/decoding.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "program/passes.h"
#include "quality/protocols.h"
#include "runtime/testing.h"

namespace assay {
namespace {

constexpr CacheSize room = {.capacity = 24, .chunk = 24};

/// A small model with a cache in several precisions.
struct DecodedModel {
  SmallModel small;

  Instance cached(const char* precision, const char* overrides = "", LogitRows logits = LogitRows::last) const {
    const PrecisionChoice choice = choose_precision(precision, overrides, DType::bf16);
    const Program program = build_program(small.config, {.logits = logits});
    return Instance(fuse(assign_dtypes(with_cache(program, room), choice)), choice, small.weights, reference_backend(),
                    small.facts);
  }
};

std::vector<std::int32_t> text_of(int count, int vocabulary) {
  std::vector<std::int32_t> ids(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) ids[static_cast<std::size_t>(i)] = (i * i * 7 + 3 * i) % vocabulary;
  return ids;
}

QualitySet set_of(const DecodedModel& model, int ids, std::int64_t window) {
  return windows(text_of(ids, static_cast<int>(model.small.config.vocab_size)), {.window = window, .batch = 3});
}

TEST(Decoding, ScoresEachTokenAsThePassOverItsWholeWindowDoes) {
  const DecodedModel model;
  const QualitySet set = set_of(model, 50, 12);
  Instance cached = model.cached("fp32");
  Instance whole = model.small.instance("fp32");
  const Evaluation by_tokens = evaluate_decoding(std::vector{&cached}, set, {.capacity = room.capacity});
  const Evaluation by_windows = evaluate(std::vector{&whole}, set, {});
  const QualityRows& mine = by_tokens.qualities[0];
  const QualityRows& other = by_windows.qualities[0];
  EXPECT_TRUE(by_tokens.is_whole());
  EXPECT_EQ(by_tokens.tokens, by_windows.tokens);
  EXPECT_EQ(mine.windows, other.windows);
  ASSERT_EQ(mine.nll.size(), other.nll.size());
  for (std::size_t i = 0; i < mine.nll.size(); ++i) EXPECT_NEAR(mine.nll[i], other.nll[i], 1e-4) << i;
}

/// Pieces that do not divide windows, whole ones, and more than they hold, through a cache of eight bits: all read what
/// it kept.
TEST(Decoding, ChunksOfAnyLengthAreScoredAsTokensAre) {
  const DecodedModel model;
  const QualitySet set = set_of(model, 50, 12);
  Instance fp32 = model.cached("fp32");
  Instance in_s8 = model.cached("fp32", "kv=s8");
  const Evaluation by_tokens = evaluate_decoding(std::vector{&fp32, &in_s8}, set, {.capacity = room.capacity});
  Instance fp32_rows = model.cached("fp32", "", LogitRows::all);
  Instance s8_rows = model.cached("fp32", "kv=s8", LogitRows::all);
  for (const std::int64_t chunk : {5, 8, 12, 24}) {
    const Evaluation by_chunks =
        evaluate_decoding(std::vector{&fp32_rows, &s8_rows}, set, {.capacity = room.capacity, .chunk = chunk});
    ASSERT_TRUE(by_chunks.is_whole());
    EXPECT_EQ(by_chunks.tokens, by_tokens.tokens);
    const QualityRows& mine = by_chunks.qualities[1];
    const QualityRows& other = by_tokens.qualities[1];
    ASSERT_EQ(mine.nll.size(), other.nll.size());
    ASSERT_EQ(mine.kl.size(), other.kl.size());
    for (std::size_t i = 0; i < mine.nll.size(); ++i) EXPECT_NEAR(mine.nll[i], other.nll[i], 1e-4) << i;
    const double kl = std::accumulate(mine.kl.begin(), mine.kl.end(), 0.0);
    EXPECT_GT(kl, 0);
    EXPECT_NEAR(kl, std::accumulate(other.kl.begin(), other.kl.end(), 0.0), 0.02 * kl);
  }
}

TEST(Decoding, ACacheOfEightBitsDivergesALittleFromOneThatIsExact) {
  const DecodedModel model;
  const QualitySet set = set_of(model, 60, 20);
  Instance fp32 = model.cached("fp32");
  Instance twin = model.cached("fp32");
  Instance in_s8 = model.cached("fp32", "kv=s8");
  const Evaluation evaluation = evaluate_decoding(std::vector{&fp32, &twin, &in_s8}, set, {.capacity = room.capacity});
  EXPECT_EQ(compare(evaluation.qualities[0], evaluation.qualities[1]).kl_mean, 0);
  const double kl = compare(evaluation.qualities[0], evaluation.qualities[2]).kl_mean;
  EXPECT_GT(kl, 0);
  EXPECT_LT(kl, 1e-2);
}

/// Rows as if scored: the divergence of position t of window w is kl(w, t).
template <typename Kl>
QualityRows made_up_rows(const QualitySet& set, Kl&& kl) {
  QualityRows rows;
  std::int64_t window = 0;
  for (const QualityBatch& batch : set.batches) {
    for (std::int64_t row = 0; row < batch.extent.batch; ++row, ++window) {
      for (std::int64_t t = 0; t < batch.extent.seq; ++t) {
        rows.kl.push_back(kl(window, t));
        rows.agrees.push_back(t % 2 == 0 ? 1 : 0);
      }
    }
  }
  return rows;
}

TEST(Decoding, StretchesOfPositionsAreAsLongAsAllBeforeThem) {
  const QualitySet set = windows(text_of(200, 97), {.window = 100, .batch = 3});
  const auto figures =
      figures_by_position(set, made_up_rows(set, [](std::int64_t, std::int64_t t) { return static_cast<double>(t); }));
  ASSERT_EQ(figures.size(), 4U);
  for (std::size_t i = 0; i < figures.size(); ++i) {
    const std::int64_t first = i == 0 ? 0 : std::int64_t{16} << (i - 1);
    const std::int64_t end = std::min<std::int64_t>(std::int64_t{16} << i, 100);
    EXPECT_EQ(figures[i].first, first);
    EXPECT_DOUBLE_EQ(figures[i].kl_mean, static_cast<double>(first + end - 1) / 2);
    EXPECT_DOUBLE_EQ(figures[i].top1_agreement, 0.5);
  }
}

TEST(Decoding, GrowthIsTheRatioOfHalvesAndItsIntervalHoldsTheTruth) {
  const QualitySet set = windows(text_of(800, 97), {.window = 100, .batch = 3});
  const auto doubled = [](std::int64_t window, std::int64_t t) {
    const double noise = 1 + 0.2 * std::sin(static_cast<double>(31 * window + t));
    return (t < 50 ? 1e-3 : 2e-3) * noise * static_cast<double>(1 + window);
  };
  const WindowMean growth = divergence_growth(set, made_up_rows(set, doubled));
  EXPECT_NEAR(growth.value, 2, 0.1);
  ASSERT_TRUE(growth.interval);
  EXPECT_LT(growth.interval->low, 2);
  EXPECT_GT(growth.interval->high, 2);
  const auto none = made_up_rows(set, [](std::int64_t, std::int64_t) { return 0.0; });
  EXPECT_FALSE(divergence_growth(set, none).interval) << "nothing diverges, nothing grows";
}

TEST(Decoding, ContinuationsOfATwinAreEqualAndThoseOfAnotherPartSomewhere) {
  const DecodedModel model;
  const std::vector<std::vector<std::int32_t>> prompts = {{3, 14, 15, 9}, {26, 5, 35, 8}, {9, 79, 3, 2}};
  Instance fp32 = model.cached("fp32");
  Instance twin = model.cached("fp32");
  const DecodingOptions options = {.capacity = room.capacity};
  const auto base = greedy_continuations(fp32, prompts, 10, 2, options);
  const auto same = greedy_continuations(twin, prompts, 10, 3, options);
  ASSERT_EQ(base.size(), 3U);
  for (std::size_t i = 0; i < base.size(); ++i) EXPECT_EQ(equal_tokens(base[i], same[i]), 10);
  EXPECT_EQ(equal_tokens(std::vector{1, 2, 3, 4}, std::vector{1, 2, 9, 4}), 2)
      << "what follows a difference is another";
}

}  // namespace
}  // namespace assay
