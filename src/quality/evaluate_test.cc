#include "quality/evaluate.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <limits>

#include "model/architecture.h"
#include "model/families.h"
#include "model/random_weights.h"
#include "program/passes.h"
#include "quality/compare.h"
#include "quality/loss.h"
#include "quality/protocols.h"

namespace assay {
namespace {

ModelConfig tiny_language_model() {
  ModelConfig config;
  config.family = find_family("gpt2");
  config.vocab_size = 61;
  config.context = 32;
  config.d_model = 16;
  config.layers = 2;
  config.heads = config.kv_heads = 2;
  config.head_dim = 8;
  config.d_ff = 32;
  config.initializer_range = 0.5;  // far from uniform, so that positions differ
  return config;
}

/// A made-up language model on the reference backend.
class Evaluate : public testing::Test {
 protected:
  std::unique_ptr<Instance> instance(const std::string& precision) {
    const PrecisionChoice choice = choose_precision(precision, "", DType::bf16);
    return std::make_unique<Instance>(assign_dtypes(build_program(config_, {}), choice), choice, weights_,
                                      reference_backend(), facts_);
  }
  static std::vector<std::int32_t> ids(int count) {
    std::vector<std::int32_t> result;
    result.reserve(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) result.push_back((i * i * 7 + 3 * i) % 61);
    return result;
  }
  static QualitySet set_of(std::int64_t window, std::int64_t batch) {
    ProtocolOptions options;
    options.window = window;
    options.batch = batch;
    return windows(ids(50), options);
  }
  std::vector<QualityRows> run(const std::vector<Instance*>& instances, const QualitySet& set) {
    return evaluate(instances, set, {}).qualities;
  }

  ModelConfig config_ = tiny_language_model();
  Weights weights_ = random_weights(build_program(config_, {}), config_, 1);
  MachineFacts facts_;
};

TEST_F(Evaluate, GivesTheNextTokenLossOfThePlansLogits) {
  const auto fp32 = instance("fp32");
  const QualitySet set = set_of(16, 2);
  const QualityRows quality = run({fp32.get()}, set)[0];
  Loss loss;
  for (const QualityBatch& batch : set.batches) {
    Plan plan(*fp32, {.extent = batch.extent});
    plan.set_inputs(batch.ids, {});
    plan.run();
    const Loss part = next_token_loss(plan.output_f32("logits").view(), batch.ids);
    loss.total += part.total;
    loss.counted += part.counted;
  }
  EXPECT_EQ(figures(quality).scored, 46);  // 15 + 15 + 15 of whole windows, 1 of the last two ids
  EXPECT_EQ(figures(quality).scored, loss.counted);
  EXPECT_DOUBLE_EQ(figures(quality).mean_nll, *loss.mean());
}

TEST_F(Evaluate, NoFigureDependsOnHowManyRowsRunAtATime) {
  const auto fp32 = instance("fp32");
  const QualityRows one = run({fp32.get()}, set_of(8, 1))[0];
  const QualityRows all = run({fp32.get()}, set_of(8, 6))[0];
  ASSERT_EQ(one.nll.size(), all.nll.size());
  for (std::size_t i = 0; i < one.nll.size(); ++i) EXPECT_NEAR(one.nll[i], all.nll[i], 1e-5) << i;
}

double mean_kl(const QualityRows& quality) {
  double sum = 0;
  for (const float kl : quality.kl) sum += kl;
  return sum / static_cast<double>(quality.kl.size());
}

TEST_F(Evaluate, Fp8DivergesALittleAndMoreThanBf16) {
  const auto fp32 = instance("fp32");
  const auto bf16 = instance("bf16");
  const auto fp8 = instance("fp8");
  const std::vector<QualityRows> qualities = run({fp32.get(), bf16.get(), fp8.get()}, set_of(16, 2));
  EXPECT_GT(mean_kl(qualities[2]), 4 * mean_kl(qualities[1])) << "4 significant bits in place of 8";
  EXPECT_LT(mean_kl(qualities[2]), 0.05);
}

TEST_F(Evaluate, TheBaselineDoesNotDivergeFromItselfNorFromItsTwin) {
  const auto fp32 = instance("fp32");
  const auto twin = instance("fp32");
  const std::vector<QualityRows> qualities = run({fp32.get(), twin.get()}, set_of(16, 2));
  EXPECT_EQ(qualities[0].logits_hash, qualities[1].logits_hash);
  const QualityChange change = compare(qualities[0], qualities[1]);
  EXPECT_EQ(change.kl_mean, 0);
  EXPECT_FALSE(change.kl_p999.has_value()) << "50 rows have no 99.9th percentile";
  EXPECT_EQ(change.top1_agreement, 1);
  EXPECT_EQ(change.delta_nll, 0);
  EXPECT_EQ(change.largest_difference, 0);
}

TEST_F(Evaluate, CoarserPrecisionsDivergeMore) {
  const auto fp32 = instance("fp32");
  const auto fp16 = instance("fp16");
  const auto bf16 = instance("bf16");
  const std::vector<QualityRows> qualities = run({fp32.get(), fp16.get(), bf16.get()}, set_of(16, 2));
  const QualityChange half = compare(qualities[0], qualities[1]);
  const QualityChange brain = compare(qualities[0], qualities[2]);
  EXPECT_NE(qualities[0].logits_hash, qualities[1].logits_hash);
  EXPECT_GT(half.kl_mean, 0);
  EXPECT_GT(brain.kl_mean, half.kl_mean);
  EXPECT_GT(brain.largest_difference, half.largest_difference);
  EXPECT_GT(half.largest_difference, 0);
  EXPECT_LT(half.largest_difference, 0.02);
}

TEST_F(Evaluate, PaddingChangesNoFigure) {
  const auto fp32 = instance("fp32");
  const auto bf16 = instance("bf16");
  const TokenBatch plain = {1, 5, {9, 8, 7, 6, 5}, {}, {}};
  const TokenBatch padded = {1, 8, {9, 8, 7, 6, 5, 0, 1, 2}, {1, 1, 1, 1, 1, 0, 0, 0}, {}};
  const auto alone = run({fp32.get(), bf16.get()}, given_tokens(plain, Scored::next_tokens, 1));
  const auto filled = run({fp32.get(), bf16.get()}, given_tokens(padded, Scored::next_tokens, 1));
  ASSERT_EQ(filled[0].nll.size(), 4u);
  EXPECT_NEAR(figures(alone[0]).mean_nll, figures(filled[0]).mean_nll, 1e-6);
  EXPECT_EQ(filled[1].kl.size(), 5u) << "divergence counts real rows only";
  EXPECT_NEAR(compare(alone[0], alone[1]).kl_mean, compare(filled[0], filled[1]).kl_mean, 1e-6);
}

TEST_F(Evaluate, WithoutTargetsOnlyDivergenceIsTold) {
  const auto fp32 = instance("fp32");
  QualitySet set = set_of(16, 2);
  for (QualityBatch& batch : set.batches) batch.targets.clear();
  const QualityRows quality = run({fp32.get()}, set)[0];
  EXPECT_TRUE(quality.nll.empty());
  EXPECT_EQ(quality.kl.size(), 50u);
}

TEST_F(Evaluate, StopsBetweenBatchesAndKeepsWhatIsScored) {
  const auto fp32 = instance("fp32");
  std::atomic<bool> interrupted = false;
  EvaluateOptions options;
  options.interrupted = &interrupted;
  options.progress = [&](double share) { interrupted = share > 0; };
  Instance* const instances[] = {fp32.get()};
  const Evaluation evaluation = evaluate(instances, set_of(8, 1), options);
  EXPECT_EQ(evaluation.qualities[0].nll.size(), 2 * 7u);
  EXPECT_EQ(evaluation.qualities[0].windows, (std::vector<std::int32_t>{7, 7}));
  EXPECT_FALSE(evaluation.is_whole());
  EXPECT_EQ(evaluation.tokens, 16);
  EXPECT_EQ(evaluation.tokens_of_set, 50);
}

/// One token whose embedding is not finite: rows that hold it are seen, wherever they stand, and nothing is scored.
class NotFinite : public Evaluate {
 protected:
  void SetUp() override {
    Weight& table = weights_.by_name.at("wte.weight");
    table.load = [load = table.load] {
      WeightData data = load();
      data.owned = converted(data.view, DType::f32);
      std::fill_n(data.owned.as<float>() + 60 * 16, 16, std::numeric_limits<float>::infinity());
      data.view = data.owned.view();
      return data;
    };
    config_.tied_head = false;
    weights_.by_name.insert(*random_weights(build_program(config_, {}), config_, 2).by_name.find("lm_head.weight"));
  }
  static QualitySet two_batches(std::size_t where) {
    QualitySet set = set_of(16, 1);
    for (QualityBatch& batch : set.batches) std::replace(batch.ids.begin(), batch.ids.end(), 60, 59);
    set.batches[1].ids[where] = 60;
    return set;
  }
};

TEST_F(NotFinite, OnePositionOfOneRowIsEnough) {
  const auto fp32 = instance("fp32");
  const QualityRows quality = run({fp32.get()}, two_batches(15))[0];
  ASSERT_TRUE(quality.non_finite.has_value());
  EXPECT_EQ(quality.non_finite->path, "embeddings");
  EXPECT_EQ(quality.non_finite->first.place[1], 15);
  EXPECT_TRUE(quality.nll.empty() && quality.kl.empty() && quality.scores.empty());
}

TEST_F(NotFinite, WithABaselineThatIsNoneNothingIsCompared) {
  const auto fp32 = instance("fp32");
  const auto bf16 = instance("bf16");
  const std::vector<QualityRows> qualities = run({fp32.get(), bf16.get()}, two_batches(3));
  EXPECT_TRUE(qualities[0].non_finite && qualities[1].non_finite);
}

TEST_F(Evaluate, ScoresAreKeptAsNumbersAndMakeNoProbabilities) {
  config_.family = find_family("bert");
  config_.task = Task::classification;
  config_.token_types = 2;
  config_.labels = 1;
  config_.activation = Activation::gelu_erf;
  weights_ = random_weights(build_program(config_, {}), config_, 1);
  QualitySet set = set_of(10, 2);
  set.judged = Judged::scores;
  for (QualityBatch& batch : set.batches) batch.targets.clear();
  const auto fp32 = instance("fp32");
  const auto bf16 = instance("bf16");
  const std::vector<QualityRows> qualities = run({fp32.get(), bf16.get()}, set);
  EXPECT_EQ(qualities[0].scores.size(), 5U);
  EXPECT_TRUE(qualities[1].kl.empty() && qualities[1].nll.empty() && qualities[1].correct.empty());
  const ScoreChange change = compare_scores(qualities[0], qualities[1]);
  EXPECT_GT(change.largest_difference, 0);
  EXPECT_GT(*change.pearson, 0.9);
}

ModelConfig tiny_encoder(Task task) {
  ModelConfig config = tiny_language_model();
  config.family = find_family("bert");
  config.task = task;
  config.token_types = 2;
  config.activation = Activation::gelu_erf;
  return config;
}

TEST_F(Evaluate, OfMaskedTokensComparesThoseAlone) {
  config_ = tiny_encoder(Task::masked_language_model);
  weights_ = random_weights(build_program(config_, {}), config_, 1);
  ProtocolOptions options;
  options.window = 7;
  options.batch = 3;
  const MaskedAs masked = {.mask = 60, .before = {58}, .after = {59}};
  const QualitySet set = masked_windows(ids(12), masked, options);
  const auto fp32 = instance("fp32");
  const auto bf16 = instance("bf16");
  const std::vector<QualityRows> qualities = run({fp32.get(), bf16.get()}, set);
  EXPECT_EQ(qualities[0].nll.size(), 12U);
  EXPECT_EQ(qualities[1].kl.size(), 12U) << "tokens that stand in the input are not compared";
  EXPECT_EQ(qualities[0].windows, (std::vector<std::int32_t>{5, 5, 2})) << "of the text, not of its masked copies";
  EXPECT_GT(compare(qualities[0], qualities[1]).kl_mean, 0);
}

TEST_F(Evaluate, EmbeddingsOfAPairAreComparedByTheirCosine) {
  config_ = tiny_encoder(Task::embedding);
  weights_ = random_weights(build_program(config_, {}), config_, 1);
  QualitySet set;
  set.judged = Judged::similarities;
  set.batches.push_back({.extent = {4, 3}, .ids = {1, 2, 3, 1, 2, 3, 1, 2, 3, 9, 8, 7}, .mask = {}, .targets = {}});
  const auto fp32 = instance("fp32");
  const std::vector<float> cosines = run({fp32.get()}, set)[0].scores;
  ASSERT_EQ(cosines.size(), 2U);
  EXPECT_FLOAT_EQ(cosines[0], 1) << "of equal sentences";
  EXPECT_LT(cosines[1], 1);
}

TEST_F(Evaluate, TokenTypesAreWhatTheProgramAdds) {
  config_ = tiny_encoder(Task::classification);
  weights_ = random_weights(build_program(config_, {}), config_, 1);
  const PrecisionChoice choice = choose_precision("fp32", "", DType::bf16);
  Instance told(assign_dtypes(build_program(config_, {.token_types = TokenTypes::given}), choice), choice, weights_,
                reference_backend(), facts_);
  const auto untold = instance("fp32");
  const auto hash = [&](Instance& instance, std::vector<std::int32_t> types) {
    QualitySet set;
    set.batches.push_back({{1, 3}, {1, 2, 3}, {}, {}, std::move(types)});
    return run({&instance}, set)[0].logits_hash;
  };
  EXPECT_EQ(hash(told, {}), hash(told, {0, 0, 0})) << "without types all are 0";
  EXPECT_NE(hash(told, {0, 1, 1}), hash(told, {}));
  EXPECT_EQ(hash(told, {}), hash(*untold, {}));
}

/// Gives an instance's own logits, as another program would.
class EchoedLogits : public LogitSource {
 public:
  explicit EchoedLogits(Instance& instance) : instance_(instance) {}
  std::optional<TensorView> logits(const QualityBatch& batch) override {
    if (++calls_ > answers) {
      fault_ = "it died";
      return std::nullopt;
    }
    Plan plan(instance_, {.extent = batch.extent});
    plan.set_inputs(batch.ids, batch.mask);
    plan.run();
    const OutputView view = plan.output("logits");
    values_ = Tensor(DType::f32, view.tensor.shape);
    std::copy_n(view.tensor.as<float>(), view.tensor.count(), values_.as<float>());
    if (first_value) values_.as<float>()[0] = *first_value;
    TensorView given = values_.view();
    if (drops_a_class) given.shape.back() -= 1;
    return given;
  }
  std::string fault() const override { return fault_; }

  int answers = 1000;
  bool drops_a_class = false;
  std::optional<float> first_value = {};

 private:
  Instance& instance_;
  Tensor values_;
  int calls_ = 0;
  std::string fault_;
};

TEST_F(Evaluate, LogitsOfOthersAreScoredAsItsOwn) {
  const auto fp32 = instance("fp32");
  const auto bf16 = instance("bf16");
  EchoedLogits same(*fp32);
  EchoedLogits rounded(*fp32);
  rounded.first_value = 3;
  EvaluateOptions options;
  options.others = {&same, &rounded};
  Instance* const instances[] = {fp32.get()};
  const Evaluation evaluation = evaluate(instances, set_of(8, 2), options);
  ASSERT_EQ(evaluation.qualities.size(), 3u);
  EXPECT_EQ(evaluation.qualities[1].logits_hash, evaluation.qualities[0].logits_hash);
  EXPECT_EQ(evaluation.qualities[1].nll, evaluation.qualities[0].nll);
  EXPECT_EQ(evaluation.qualities[1].kl, evaluation.qualities[0].kl);
  EXPECT_NE(evaluation.qualities[2].logits_hash, evaluation.qualities[0].logits_hash);
  EXPECT_GT(evaluation.qualities[2].kl[0], 0);
  EXPECT_EQ(evaluation.faults, (std::vector<std::string>(2)));
}

TEST_F(Evaluate, OthersThatFailHaveNoFiguresAndAReason) {
  const auto fp32 = instance("fp32");
  EchoedLogits dies(*fp32);
  dies.answers = 1;
  EchoedLogits small(*fp32);
  small.drops_a_class = true;
  EchoedLogits infinite(*fp32);
  infinite.first_value = std::numeric_limits<float>::infinity();
  EvaluateOptions options;
  options.others = {&dies, &small, &infinite};
  Instance* const instances[] = {fp32.get()};
  const Evaluation evaluation = evaluate(instances, set_of(8, 2), options);
  EXPECT_EQ(evaluation.faults[0], "it died");
  EXPECT_EQ(evaluation.faults[1], "its logits are (2, 8, 60) where (2, 8, 61) are asked");
  EXPECT_TRUE(evaluation.qualities[1].nll.empty() && evaluation.qualities[2].nll.empty());
  ASSERT_TRUE(evaluation.qualities[3].non_finite);
  EXPECT_EQ(words(*evaluation.qualities[3].non_finite), "logits holds +infinity at [0, 0]");
  EXPECT_FALSE(evaluation.qualities[0].nll.empty());
}

}  // namespace
}  // namespace assay
