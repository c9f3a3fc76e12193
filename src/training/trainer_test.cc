#include "training/trainer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

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

struct StepGradients {
  double loss = 0;
  std::map<std::string, Tensor> gradients;  ///< f32
};

/// One step with dropout of five rows, the last of them padded, worked in so many parts.
StepGradients step_in_parts(const TrainingOptions& options, std::int64_t parts) {
  const MachineFacts facts = plain_facts();
  const ModelConfig config = small_gpt2();
  const Weights weights = random_weights(build_program(config, {}), config, 3);
  Trainer trainer(config, weights, options, reference_backend(), facts);
  TrainingBatch batch;
  batch.extent = {5, 7};
  for (std::int32_t i = 0; i < 35; ++i) batch.input_ids.push_back(i * i % 13);
  batch.attention_mask.assign(35, 1);
  batch.labels = shifted_labels(batch.input_ids, batch.extent);
  for (std::size_t i = 31; i < 35; ++i) batch.attention_mask[i] = 0;
  for (std::size_t i = 30; i < 35; ++i) batch.labels[i] = -100;
  StepGradients result;
  result.loss = run_step(trainer, batch, 4, {.parts = parts, .seed = 9}).loss;
  for (const Value& value : trainer.programs().step.values) {
    if (is_gradient(value))
      result.gradients[value.name] = converted(trainer.state().find(value.name)->view(), DType::f32);
  }
  return result;
}

double largest(const Tensor& tensor) {
  double most = 0;
  for (std::int64_t i = 0; i < tensor.count(); ++i) most = std::max(most, std::abs(double{tensor.as<float>()[i]}));
  return most;
}

double largest_difference(const Tensor& a, const Tensor& b) {
  double most = 0;
  for (std::int64_t i = 0; i < a.count(); ++i)
    most = std::max(most, std::abs(double{a.as<float>()[i]} - double{b.as<float>()[i]}));
  return most;
}

/// Another mask of one row alone moves gradients by tenths; sums in another order by roundings.
TEST(Accumulation, APartDropsWhatTheWholeBatchDropsInItsRows) {
  for (const std::string precision : {"fp32", "mixed-bf16"}) {
    TrainingOptions options = with_precision(precision);
    options.dropout = 0.3;
    const StepGradients whole = step_in_parts(options, 1);
    options.gradients = Gradients::added;
    for (const std::int64_t parts : {2, 3, 5}) {
      const StepGradients some = step_in_parts(options, parts);
      EXPECT_NEAR(some.loss, whole.loss, 1e-6) << precision << " " << parts;
      ASSERT_EQ(some.gradients.size(), whole.gradients.size());
      for (const auto& [name, gradient] : whole.gradients)
        EXPECT_LE(largest_difference(some.gradients.at(name), gradient), 1e-5 * largest(gradient) + 1e-7)
            << precision << " " << parts << " " << name;
    }
  }
}

}  // namespace
}  // namespace assay
