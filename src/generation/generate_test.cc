#include "generation/generate.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "program/passes.h"
#include "runtime/guarded_device_testing.h"
#include "runtime/testing.h"

namespace assay {
namespace {

constexpr CacheSize cache_size = {.capacity = 24, .chunk = 5};

/// A small model whose keys and values are kept, and the same without a cache.
struct CachedModel {
  SmallModel small;
  Instance cached = made("fp32", "", LogitRows::last);

  Instance made(const char* precision, const char* overrides, LogitRows logits,
                const Backend& backend = reference_backend()) const {
    const PrecisionChoice choice = choose_precision(precision, overrides, DType::bf16);
    const Program program = build_program(small.config, {.logits = logits});
    return Instance(fuse(assign_dtypes(with_cache(program, cache_size), choice)), choice, small.weights, backend,
                    small.facts);
  }
  Session session(std::int64_t batch) { return Session(cached, {.batch = batch, .capacity = cache_size.capacity}); }

  /// The most probable id behind all of `ids`, read at once and without a cache.
  std::int32_t next_of(const std::vector<std::int32_t>& ids) const {
    Instance whole = small.instance("fp32");
    Plan plan(whole, {.extent = {.batch = 1, .seq = std::ssize(ids)}});
    plan.set_inputs(ids, {});
    plan.run();
    const Tensor logits = plan.output_f32("logits");
    const float* last = logits.as<float>() + (std::ssize(ids) - 1) * small.config.vocab_size;
    return static_cast<std::int32_t>(std::max_element(last, last + small.config.vocab_size) - last);
  }
};

const std::vector<std::vector<std::int32_t>> prompts = {
    {3, 14, 15, 9, 26, 5, 35, 8, 9, 79, 3}, {27}, {18, 28, 18, 28, 4, 5}};

TEST(Generate, GreedyIdsAreThoseOfThePassOverTheWholeText) {
  CachedModel model;
  Session session = model.session(3);
  const Generation generation = generate(session, {.prompts = prompts, .most_new = 7, .chunk = 5});
  for (std::size_t row = 0; row < prompts.size(); ++row) {
    std::vector<std::int32_t> text = prompts[row];
    ASSERT_EQ(generation.sequences[row].size(), 7U);
    for (const std::int32_t id : generation.sequences[row]) {
      EXPECT_EQ(id, model.next_of(text)) << "row " << row << " after " << text.size();
      text.push_back(id);
    }
  }
  EXPECT_EQ(generation.token_ms.size(), 6U);
}

/// What changes from token to token is read from the plan's inputs, so that what was recorded stays right.
TEST(Generate, DecodesByOneRecordingFromItsSecondTokenOn) {
  CachedModel model;
  const GenerationOptions options = {.prompts = prompts, .most_new = 7, .chunk = 5};
  Session on_host = model.session(3);
  const Generation right = generate(on_host, options);
  Instance device = model.made("fp32", "", LogitRows::last, guarded_backend());
  guarded().records = true;
  for (const bool fails : {false, true}) {
    guarded().recording_fault = fails ? "a pretended fault" : "";
    Session session(device, {.batch = 3, .capacity = cache_size.capacity});
    guarded().ranges.clear();
    const Generation found = generate(session, options);
    EXPECT_EQ(found.sequences, right.sequences);
    const Plan& decode = session.plan_for(1);
    EXPECT_EQ(decode.is_recorded(), !fails);
    EXPECT_EQ(decode.why_not_recorded(), guarded().recording_fault);
    // Two chunks of 5 and one of 1, then six tokens: of each plan the first run is by kernels, the second recorded.
    EXPECT_EQ(guarded().ranges.size(), (fails ? 9U : 4U) * decode.steps().size());
  }
  guarded().records = false;
  guarded().recording_fault.clear();
}

TEST(Generate, ARowEndsAtAnEndIdAndTheOthersGoOn) {
  CachedModel model;
  Session free = model.session(3);
  const Generation all = generate(free, {.prompts = prompts, .most_new = 6});
  const std::int32_t end = all.sequences[1][2];
  Session session = model.session(3);
  const Generation ended = generate(session, {.prompts = prompts, .most_new = 6, .end_ids = {1000, end}});
  for (std::size_t row = 0; row < prompts.size(); ++row) {
    const auto& wanted = all.sequences[row];
    const auto found = std::find(wanted.begin(), wanted.end(), end);
    const std::vector<std::int32_t> until(wanted.begin(), found == wanted.end() ? found : found + 1);
    EXPECT_EQ(ended.sequences[row], until);
    EXPECT_EQ(ended.logprobs[row].size(), until.size());
  }
}

TEST(Generate, TheSeedDecidesWhatIsDrawn) {
  CachedModel model;
  const auto drawn = [&](std::uint64_t seed) {
    Session session = model.session(3);
    return generate(session, {.prompts = prompts, .most_new = 8, .sampling = {.temperature = 2}, .seed = seed})
        .sequences;
  };
  EXPECT_EQ(drawn(1), drawn(1));
  EXPECT_NE(drawn(1), drawn(2));
}

TEST(Session, RowsThatWouldHoldTooMuchAreRefusedBeforeAnythingRuns) {
  CachedModel model;
  Session session = model.session(1);
  const std::vector<std::int32_t> ids(20, 5);
  std::vector<std::int32_t> positions(20);
  session.run({.seq = 20, .ids = ids, .mask = {}, .positions = positions});
  try {
    session.run({.seq = 5, .ids = {1, 2, 3, 4, 5}, .mask = {}, .positions = {20, 21, 22, 23, 23}});
    FAIL() << "25 tokens went into 24 places";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "row 0 would hold 25 tokens, the cache has room for 24");
  }
  EXPECT_EQ(session.lengths(), std::vector<std::int32_t>{20});
}

/// Rolled back, a session gives what it gave before.
TEST(Session, ForgetsWhatLiesBehindALength) {
  CachedModel model;
  Session session = model.session(1);
  session.run({.seq = 4, .ids = {9, 8, 7, 6}, .mask = {}, .positions = {0, 1, 2, 3}});
  const NewTokens next = {.seq = 2, .ids = {5, 4}, .mask = {}, .positions = {4, 5}};
  const Tensor first = session.run(next).output_f32("logits");
  session.run({.seq = 1, .ids = {77}, .mask = {}, .positions = {6}});
  session.keep_first(std::vector<std::int32_t>{4});
  const Tensor again = session.run(next).output_f32("logits");
  EXPECT_TRUE(std::equal(first.as<float>(), first.as<float>() + first.count(), again.as<float>()));
}

/// Fewer bits in the cache are fewer bytes, and errors as large as their rounding.
TEST(Session, KeepsKeysAndValuesInTheDtypeThatIsAskedFor) {
  CachedModel model;
  struct Kept {
    const char* overrides;
    std::int64_t bytes;  ///< Of a token: 2 layers x keys and values x 32 columns, in s8 with 4 scales.
    double error;
  };
  constexpr Kept all[] = {{"", 512, 0}, {"kv=f16", 256, 2e-3}, {"kv=bf16", 256, 2e-2}, {"kv=s8", 192, 4e-2}};
  Tensor exact;
  for (const Kept& kept : all) {
    Instance instance = model.made("fp32", kept.overrides, LogitRows::last);
    Session session(instance, {.batch = 1, .capacity = cache_size.capacity});
    session.run({.seq = 5, .ids = {1, 2, 3, 4, 5}, .mask = {}, .positions = {0, 1, 2, 3, 4}});
    const Tensor logits = session.run({.seq = 1, .ids = {6}, .mask = {}, .positions = {5}}).output_f32("logits");
    EXPECT_EQ(session.cache_bytes(), kept.bytes * cache_size.capacity) << kept.overrides;
    if (exact.data() == nullptr) exact = converted(logits.view(), DType::f32);
    double most = 0;
    double difference = 0;
    for (std::int64_t i = 0; i < logits.count(); ++i) {
      most = std::max<double>(most, std::abs(exact.as<float>()[i]));
      difference = std::max<double>(difference, std::abs(exact.as<float>()[i] - logits.as<float>()[i]));
    }
    EXPECT_LE(difference, kept.error * most) << kept.overrides;
    EXPECT_EQ(difference > 0, kept.error > 0) << kept.overrides;
  }
}

}  // namespace
}  // namespace assay
