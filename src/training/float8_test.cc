#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>

#include "base/file.h"
#include "model/random_weights.h"
#include "model/testing.h"
#include "program/float8_history.h"
#include "runtime/testing.h"
#include "training/checkpoint.h"
#include "training/data.h"
#include "training/folder.h"
#include "training/scale_shares.h"
#include "training/step.h"

namespace assay {
namespace {

struct Float8Run {
  explicit Float8Run(const std::string& precision, const Backend& backend = reference_backend(),
                     Gradients gradients = Gradients::written) {
    model.name = "small";
    model.config = small_gpt2();
    model.weights = random_weights(build_program(model.config, {}), model.config, 3);
    options.precision = choose_precision(precision, "", std::nullopt);
    options.norms = GradientNorms::always;
    options.gradients = gradients;
    trainer = std::make_unique<Trainer>(model.config, model.weights, options, backend, facts);
    std::vector<std::int32_t> ids;
    ids.reserve(300);
    for (std::int32_t i = 0; i < 300; ++i) ids.push_back(i * i % 97);
    data = random_windows(ids, {4, 12}, 1, "text");
  }

  void run(std::int64_t until, std::int64_t parts = 1) {
    for (; progress.steps < until; ++progress.steps)
      progress.losses.push_back(
          run_step(*trainer, data.batch(progress.steps), progress.steps, {.parts = parts, .seed = 7}).loss);
  }

  const float* history(const std::string& name) const {
    return trainer->state().find("optimizer.float8." + name)->as<float>();
  }

  MachineFacts facts = plain_facts();
  Model model;
  TrainingOptions options;
  std::unique_ptr<Trainer> trainer;
  TrainingData data;
  TrainingProgress progress;
};

const Node& maker_of(const Program& program, ValueId id) {
  return *std::ranges::find_if(
      program.nodes, [&](const Node& node) { return std::ranges::find(node.outputs, id) != node.outputs.end(); });
}

/// Of every linear layer but the head: inputs and weights in e4m3, gradients of outputs in e5m2, each rounded once for
/// all that multiply it.
TEST(Float8Training, RoundsWhatLinearLayersMultiplyOnce) {
  const Program step = training_programs(small_gpt2(), Float8Run("mixed-fp8").options).step;
  int products = 0;
  for (const Node& node : step.nodes) {
    const bool forward = node.operation == &op::linear;
    const bool of_input = node.operation == &op::linear_input_gradient;
    const bool of_weight = node.operation == &op::linear_weight_gradient;
    if (!forward && !of_input && !of_weight) continue;
    for (const std::size_t place : {0, 1}) {
      const Node* maker =
          step.value(node.inputs[place]).source == Source::computed ? &maker_of(step, node.inputs[place]) : nullptr;
      const bool is_rounded = maker != nullptr && maker->operation == &op::round_float8;
      ASSERT_EQ(is_rounded, node.role != Role::head) << node.path << " " << node.operation->name;
      if (!is_rounded) continue;
      ++products;
      const bool is_gradient_of_output = !forward && place == 0;
      EXPECT_EQ(maker->attributes.operand, is_gradient_of_output ? DType::e5m2 : DType::e4m3) << node.path;
    }
  }
  const auto roundings =
      std::ranges::count_if(step.nodes, [](const Node& node) { return node.operation == &op::round_float8; });
  EXPECT_EQ(products, 3 * 2 * 4 * 2) << "three products of two operands; four linear layers in two blocks";
  EXPECT_EQ(roundings, 3 * 4 * 2) << "x, W and dy of each layer";
}

/// The scale of a step is of those before; what a step saw moves to their front.
TEST(Float8Training, DelayedScalesComeFromTheStepsBefore) {
  Float8Run training("mixed-fp8");
  const std::string name = "w.layers.0.mlp.up_proj";
  ASSERT_NE(training.trainer->state().find("optimizer.float8." + name), nullptr) << "before the first step";
  std::vector<float> seen;
  for (std::int64_t step = 1; step <= float8_steps + 3; ++step) {
    training.run(step);
    seen.insert(seen.begin(), training.history(name)[float8_before]);
    EXPECT_EQ(training.history(name)[float8_largest], 0) << "cleared for the next step";
    EXPECT_GT(seen.front(), 0);
    for (std::size_t i = 0; i < std::min<std::size_t>(seen.size(), float8_steps); ++i)
      EXPECT_EQ(training.history(name)[float8_before + static_cast<std::int64_t>(i)], seen[i]) << step << " " << i;
  }
}

/// The largest of a step is that of all of its parts.
TEST(Float8Training, PartsOfAStepShareItsLargest) {
  Float8Run whole("mixed-fp8");
  whole.run(1);
  Float8Run some("mixed-fp8", reference_backend(), Gradients::added);
  some.run(1, 2);
  for (const char* name : {"x.layers.0.mlp.up_proj", "w.layers.1.mlp.down_proj"})
    EXPECT_NEAR(some.history(name)[float8_before], whole.history(name)[float8_before],
                0.02F * whole.history(name)[float8_before])
        << name;
}

TEST(Float8Training, LearnsAsMixedBf16NearlyAndOtherwise) {
  const auto losses = [](const char* precision, const Backend& backend) {
    Float8Run training(precision, backend);
    training.run(25);
    return training.progress.losses;
  };
  const std::vector<double> usual = losses("mixed-bf16", cpu_backend());
  ASSERT_LT(usual.back(), usual.front() - 0.3);
  for (const char* precision : {"mixed-fp8", "mixed-fp8-block"}) {
    const std::vector<double> mine = losses(precision, cpu_backend());
    EXPECT_NEAR(mine.back(), usual.back(), 0.1) << precision;
    EXPECT_NE(mine.front(), usual.front()) << precision << ": the first forward is rounded already";
    EXPECT_NEAR(mine.back(), losses(precision, reference_backend()).back(), 0.02) << precision;
  }
}

TEST(Float8Training, GoesOnFromACheckpointToTheBit) {
  const TemporaryFolder folder;
  for (const std::string precision : {"mixed-fp8", "mixed-fp8-block"}) {
    std::vector<std::string> notes;
    Float8Run whole(precision);
    whole.run(6);
    Float8Run first(precision);
    first.run(3);
    TrainingFolder held(folder.path() / precision, notes);
    save_training(held, first.model, *first.trainer, first.progress);
    Float8Run second(precision);
    second.progress = resume_training(held.path(), second.model, *second.trainer, second.progress.options, notes);
    second.run(6);
    EXPECT_EQ(second.progress.losses, whole.progress.losses) << precision;
    for (const auto& [name, tensor] : whole.trainer->state().tensors())
      EXPECT_EQ(std::memcmp(second.trainer->state().find(name)->data(), tensor.data(), tensor.bytes()), 0) << name;
  }
}

TEST(Float8Training, SharesAreOfEveryOperand) {
  Float8Run training("mixed-fp8");
  training.run(2);
  const std::vector<ScaleShares> shares = scale_shares(*training.trainer);
  ASSERT_EQ(shares.size(), 3U * 4 * 2);
  for (const ScaleShares& one : shares) {
    EXPECT_TRUE(one.operand == "x" || one.operand == "w" || one.operand == "dy") << one.operand;
    EXPECT_TRUE(one.layer.starts_with("layers.")) << one.layer;
    EXPECT_GT(one.largest, 0) << one.layer;
    EXPECT_LT(one.saturated, 0.05) << one.layer << " " << one.operand;
  }
  EXPECT_TRUE(scale_shares(*Float8Run("mixed-bf16").trainer).empty());
}

}  // namespace
}  // namespace assay
