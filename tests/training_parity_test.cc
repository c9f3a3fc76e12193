#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "formats/safetensors.h"
#include "hardware/machine.h"
#include "model/testing.h"
#include "studies/dump/gradients.h"
#include "studies/shared/engine.h"
#include "studies/shared/training_step.h"

// Gradients and optimizer steps of small random models against PyTorch's (tools/generate_training_fixtures.py).

namespace assay {
namespace {

namespace fs = std::filesystem;

const MachineFacts& facts() {
  static const MachineFacts read = read_machine_facts({.max_isa = "", .threads = 2});
  return read;
}

/// One way to differentiate.
struct TrainingSetting {
  const char* device = "cpu";
  Fusion fusion = Fusion::on;
  Recompute recompute = Recompute::none;
  const char* precision = "fp32";
};

struct Case {
  Model model;
  TrainingBatch batch;
};

Case open_case(const std::string& model, const std::string& part) {
  const fs::path tokens = model_fixtures / model / "cases" / (part + ".json");
  Case one{open_model((model_fixtures / model).string(), {}), {}};
  one.batch = training_batch(one.model, load_token_json(tokens), tokens.string());
  return one;
}

TrainingOptions options_of(const TrainingSetting& setting, StepParts parts) {
  TrainingOptions options;
  options.precision = choose_precision(setting.precision, "", DType::bf16);
  options.fusion = setting.fusion;
  options.recompute = setting.recompute;
  options.parts = parts;
  return options;
}

/// Gradients under the parameters' names in the checkpoint, in f32, shaped as there.
std::map<std::string, Tensor> gradients_of(const Case& one, const TrainingSetting& setting) {
  TrainingOptions options = options_of(setting, StepParts::forward_backward);
  if (!one.batch.token_types.empty()) options.token_types = TokenTypes::given;
  Trainer trainer(one.model.config, one.model.weights, options, find_backend(setting.device), facts());
  trainer.loss_scale().restore({.scale = 64});  // small enough for these large gradients in f16
  trainer.set_batch(one.batch);
  trainer.forward();
  trainer.backward();
  std::map<std::string, Tensor> found;
  for (const auto& [name, weight] : one.model.weights.by_name) {
    Tensor wide = converted(trainer.state().find("grad." + name)->view(), DType::f32);
    const double scale = trainer.loss_scale().scale();
    for (std::int64_t i = 0; i < wide.count(); ++i) wide.as<float>()[i] /= static_cast<float>(scale);
    found["grad." + weight.checkpoint_name] = to_stored(wide.view(), weight.order, one.model.config);
  }
  return found;
}

double largest(const TensorView& tensor) {
  double magnitude = 0;
  for (std::int64_t i = 0; i < tensor.count(); ++i)
    magnitude = std::max(magnitude, std::abs(static_cast<double>(tensor.as<float>()[i])));
  return magnitude;
}

double largest_difference(const TensorView& a, const TensorView& b) {
  EXPECT_EQ(a.shape, b.shape);
  double difference = 0;
  for (std::int64_t i = 0; i < a.count() && a.shape == b.shape; ++i)
    difference = std::max(difference, std::abs(static_cast<double>(a.as<float>()[i]) - b.as<float>()[i]));
  return difference;
}

class TrainingParity : public testing::TestWithParam<std::string> {};

constexpr TrainingSetting settings[] = {{"cpu", Fusion::on},
                                        {"cpu", Fusion::off},
                                        {"reference", Fusion::on},
                                        {"cpu", Fusion::on, Recompute::block},
                                        {"cpu", Fusion::off, Recompute::block},
                                        {"cpu", Fusion::off, Recompute::attention}};

TEST_P(TrainingParity, Fp32GradientsAgreeWithPyTorch) {
  for (const char* part : {"plain", "right"}) {
    const Case one = open_case(GetParam(), part);
    const Safetensors expected =
        open_safetensors(model_fixtures / GetParam() / "cases" / (std::string(part) + ".grads.safetensors"));
    double model_largest = 0;
    for (const StoredTensor& tensor : expected.tensors) model_largest = std::max(model_largest, largest(tensor.view()));
    for (const TrainingSetting& setting : settings) {
      SCOPED_TRACE(fmt::format("{} {} on {}, fusion {}, recompute {}", GetParam(), part, setting.device,
                               setting.fusion == Fusion::on ? "on" : "off", name(setting.recompute)));
      const std::map<std::string, Tensor> found = gradients_of(one, setting);
      EXPECT_EQ(found.size(), expected.tensors.size());
      for (const StoredTensor& tensor : expected.tensors) {
        ASSERT_EQ(found.count(tensor.name), 1U) << tensor.name;
        // Key biases have no gradient in exact arithmetic: rounding is all there is of it.
        const double allowed = std::max(2e-4 * largest(tensor.view()), 2e-6 * model_largest);
        EXPECT_LE(largest_difference(tensor.view(), found.at(tensor.name).view()), allowed) << tensor.name;
      }
    }
  }
}

/// sqrt(sum of squares of the differences over sum of squares), over all parameters.
double relative_error(const Safetensors& expected, const std::map<std::string, Tensor>& found) {
  double error = 0;
  double total = 0;
  for (const StoredTensor& tensor : expected.tensors) {
    const float* right = tensor.view().as<float>();
    const auto* got = found.at(tensor.name).as<float>();
    for (std::int64_t i = 0; i < tensor.view().count(); ++i) {
      error += std::pow(static_cast<double>(right[i]) - got[i], 2);
      total += std::pow(static_cast<double>(right[i]), 2);
    }
  }
  return std::sqrt(error / total);
}

TEST_P(TrainingParity, SixteenBitGradientsAreNoisyAndNothingElse) {
  struct Allowed {
    const char* precision;
    double error;
  };
  const Case one = open_case(GetParam(), "plain");
  const Safetensors expected = open_safetensors(model_fixtures / GetParam() / "cases/plain.grads.safetensors");
  for (const Allowed& allowed : {Allowed{"mixed-bf16", 0.05}, Allowed{"bf16", 0.2}, Allowed{"mixed-fp16", 0.01}}) {
    for (const Fusion fusion : {Fusion::on, Fusion::off}) {
      const double error =
          relative_error(expected, gradients_of(one, {"cpu", fusion, Recompute::none, allowed.precision}));
      EXPECT_LE(error, allowed.error) << allowed.precision;
      EXPECT_GT(error, 1e-5) << allowed.precision << " ran in f32";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Fixtures, TrainingParity, testing::ValuesIn(fixtures_with("cases/plain.grads.safetensors")),
                         [](const auto& tested) { return test_name(tested.param); });

/// On one batch; each loss is PyTorch's.
void take_five_steps(Trainer& trainer, const TrainingBatch& batch, const Safetensors& expected) {
  trainer.set_batch(batch);
  for (std::int64_t step = 0; step < 5; ++step) {
    const double loss = trainer.forward();
    EXPECT_NEAR(loss, expected.find("losses")->view().as<float>()[step], 1e-5 * loss) << step;
    trainer.backward();
    trainer.update(step);
  }
}

TEST(AdamWSteps, AgreeWithPyTorchAfterFive) {
  const Case one = open_case("cs336", "plain");
  const Safetensors expected = open_safetensors(model_fixtures / "cs336/cases/plain.adamw.safetensors");
  Trainer trainer(one.model.config, one.model.weights, options_of({}, StepParts::whole), cpu_backend(), facts());
  take_five_steps(trainer, one.batch, expected);
  for (const auto& [name, weight] : one.model.weights.by_name) {
    const TensorView right = expected.find(name)->view();
    const auto* got = trainer.state().find(name)->as<float>();
    std::int64_t further = 0;
    for (std::int64_t i = 0; i < right.count(); ++i) {
      const double difference = std::abs(static_cast<double>(right.as<float>()[i]) - got[i]);
      EXPECT_LE(difference, 2e-3) << name;
      further += difference > 2e-5 ? 1 : 0;
    }
    EXPECT_LE(further, right.count() / 10000) << name;
  }
}

/// Decay and rates that differ enough for a parameter in the wrong group to be seen.
TEST(AdamWSteps, OfGroupsAgreeWithPyTorchAfterFive) {
  const Case one = open_case("gpt2", "plain");
  const Safetensors expected = open_safetensors(model_fixtures / "gpt2/cases/plain.groups.safetensors");
  TrainingOptions options = options_of({}, StepParts::whole);
  options.optimizer.weight_decay = 0.5;
  options.optimizer.groups = {parse_no_decay("usual", ""), parse_role_rates("embedding=5e-3", "")};
  Trainer trainer(one.model.config, one.model.weights, options, cpu_backend(), facts());
  take_five_steps(trainer, one.batch, expected);
  for (const auto& [name, weight] : one.model.weights.by_name) {
    const TensorView right = expected.find(weight.checkpoint_name)->view();
    const Tensor wide = converted(trainer.state().find(name)->view(), DType::f32);
    const Tensor got = to_stored(wide.view(), weight.order, one.model.config);
    std::int64_t further = 0;
    for (std::int64_t i = 0; i < right.count(); ++i)
      further += std::abs(double{right.as<float>()[i]} - got.as<float>()[i]) > 2e-5 ? 1 : 0;
    // A decay of 0.5 at a rate of 1e-3 takes 2.5e-4 of a weight of 0.1 in five steps. Steps along gradients that are
    // rounding alone go anywhere: a third of these biases, keys', has no others.
    const std::int64_t allowed = name.ends_with("c_attn.bias") ? right.count() / 2 : right.count() / 1000;
    EXPECT_LE(further, allowed) << name;
    EXPECT_LE(largest_difference(right, got.view()), 1e-2) << name;
  }
}

class TrainingSteps : public testing::TestWithParam<std::string> {};

TEST_P(TrainingSteps, LossesAgreeWithPyTorch) {
  const fs::path file = model_fixtures / GetParam() / "cases/plain.steps.json";
  const Json losses = parse_json(read_file(file), file.string()).at("losses");
  const Case one = open_case(GetParam(), "plain");
  for (const TrainingSetting& setting : settings) {
    Trainer trainer(one.model.config, one.model.weights, options_of(setting, StepParts::whole),
                    find_backend(setting.device), facts());
    trainer.set_batch(one.batch);
    for (std::size_t step = 0; step < losses.size(); ++step) {
      const double expected = losses[step].get<double>();
      EXPECT_NEAR(trainer.forward(), expected, 1e-6 * expected) << setting.device << " step " << step;
      trainer.backward();
      trainer.update(static_cast<std::int64_t>(step));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Fixtures, TrainingSteps, testing::ValuesIn(fixtures_with("cases/plain.steps.json")),
                         [](const auto& tested) { return test_name(tested.param); });

/// Rows [begin, end) of the batch.
TrainingBatch rows_of(const TrainingBatch& batch, std::int64_t begin, std::int64_t end) {
  const auto cut = [&](const std::vector<std::int32_t>& values) {
    return std::vector<std::int32_t>(values.begin() + begin * batch.extent.seq,
                                     values.begin() + end * batch.extent.seq);
  };
  return {{end - begin, batch.extent.seq}, cut(batch.input_ids), {}, cut(batch.labels)};
}

TEST(Accumulation, OfTwoHalvesIsTheGradientOfTheWhole) {
  for (const char* model : {"cs336", "gpt2"}) {
    const Case one = open_case(model, "plain");
    const std::map<std::string, Tensor> whole = gradients_of(one, {});
    TrainingOptions options = options_of({}, StepParts::forward_backward);
    options.gradients = Gradients::added;
    Trainer trainer(one.model.config, one.model.weights, options, cpu_backend(), facts());
    trainer.clear_gradients();
    for (const std::int64_t row : {0, 1}) {
      trainer.set_batch(rows_of(one.batch, row, row + 1));
      trainer.forward();
      trainer.backward(0.5);
    }
    for (const auto& [name, weight] : one.model.weights.by_name) {
      const TensorView right = whole.at("grad." + weight.checkpoint_name).view();
      const Tensor wide = converted(trainer.state().find("grad." + name)->view(), DType::f32);
      const Tensor got = to_stored(wide.view(), weight.order, one.model.config);
      EXPECT_LE(largest_difference(right, got.view()), 1e-5 * largest(right)) << model << " " << name;
    }
  }
}

TEST(LossScaling, SkipsAStepWhoseGradientsOverflowAndHalvesTheScale) {
  const Case one = open_case("cs336", "plain");
  Trainer trainer(one.model.config, one.model.weights, options_of({.precision = "mixed-fp16"}, StepParts::whole),
                  cpu_backend(), facts());
  trainer.loss_scale().restore({.scale = 0x1p40});
  trainer.set_batch(one.batch);
  trainer.forward();
  trainer.backward();
  const float before = *trainer.state().find("lm_head.weight")->as<float>();
  const UpdateResult result = trainer.update(0);
  EXPECT_TRUE(result.skipped);
  EXPECT_EQ(trainer.loss_scale().progress().skipped, 1);
  EXPECT_EQ(trainer.loss_scale().scale(), 0x1p39);
  EXPECT_EQ(*trainer.state().find("lm_head.weight")->as<float>(), before);
}

}  // namespace
}  // namespace assay
