#include "training/trainer.h"

#include <gtest/gtest.h>

#include <cmath>

#include "model/testing.h"
#include "runtime/testing.h"
#include "training/step.h"

namespace assay {
namespace {

struct Steps {
  UpdateResult last;
  std::vector<float> head;  ///< The first parameters of the embedding after the steps.
};

Steps two_steps(const TrainingOptions& options) {
  const MachineFacts facts = plain_facts();
  const ModelConfig config = small_gpt2();
  const Weights weights = random_weights(build_program(config, {}), config, 3);
  Trainer trainer(config, weights, options, reference_backend(), facts);
  TrainingBatch batch;
  batch.extent = {2, 6};
  for (std::int32_t i = 0; i < 12; ++i) batch.input_ids.push_back(i * i % 13);
  batch.labels = shifted_labels(batch.input_ids, batch.extent);
  Steps result;
  for (std::int64_t step = 0; step < 2; ++step) result.last = run_step(trainer, batch, step, {}).update;
  const auto* first = trainer.state().find(weights.by_name.begin()->first)->as<float>();
  result.head.assign(first, first + 8);
  return result;
}

TrainingOptions with_precision(const std::string& precision) {
  TrainingOptions options;
  options.precision = choose_precision(precision, "", std::nullopt);
  return options;
}

TEST(GradientNorms, AreTakenWhereClippingOrALossScaleNeedsThemOrTheyAreAskedFor) {
  EXPECT_FALSE(two_steps(with_precision("fp32")).last.gradient_norm.has_value());
  EXPECT_FALSE(two_steps(with_precision("mixed-bf16")).last.gradient_norm.has_value());
  EXPECT_TRUE(two_steps(with_precision("mixed-fp16")).last.gradient_norm.has_value());
  TrainingOptions clipped = with_precision("fp32");
  clipped.optimizer.clip_norm = 1e9;
  EXPECT_TRUE(two_steps(clipped).last.gradient_norm.has_value());
}

TEST(GradientNorms, ChangeNothingWhereNothingIsClipped) {
  TrainingOptions options = with_precision("fp32");
  const Steps without = two_steps(options);
  options.norms = GradientNorms::always;
  const Steps with = two_steps(options);
  ASSERT_TRUE(with.last.gradient_norm.has_value());
  EXPECT_GT(*with.last.gradient_norm, 0);
  EXPECT_TRUE(std::isfinite(*with.last.gradient_norm));
  EXPECT_EQ(with.head, without.head);
}

}  // namespace
}  // namespace assay
