#include "training/torch_state.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/error.h"
#include "base/testing.h"
#include "formats/safetensors.h"
#include "model/lora.h"
#include "model/random_weights.h"
#include "model/testing.h"
#include "runtime/testing.h"
#include "training/data.h"
#include "training/step.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

/// A small GPT-2, whose weights PyTorch has as [in, out].
struct TorchTraining {
  explicit TorchTraining(const OptimizerOptions& optimizer = {}) : facts(plain_facts()) {
    model.name = "small";
    model.config = small_gpt2();
    model.weights = random_weights(build_program(model.config, {}), model.config, 3);
    options.precision = choose_precision("fp32", "", std::nullopt);
    options.optimizer = optimizer;
    trainer = std::make_unique<Trainer>(model.config, model.weights, options, reference_backend(), facts);
    std::vector<std::int32_t> ids;
    ids.reserve(300);
    for (std::int32_t i = 0; i < 300; ++i) ids.push_back(i * i % 97);
    data = random_windows(ids, {2, 8}, 1, "text");
  }
  std::vector<double> run(std::int64_t first, std::int64_t end) {
    std::vector<double> losses;
    for (std::int64_t step = first; step < end; ++step)
      losses.push_back(run_step(*trainer, data.batch(step), step, {}).loss);
    return losses;
  }

  MachineFacts facts;
  Model model;
  TrainingOptions options;
  std::unique_ptr<Trainer> trainer;
  TrainingData data;
};

/// The parameters of one training in another.
void copy_parameters(TorchTraining& from, TorchTraining& to) {
  for (const auto& [name, weight] : from.model.weights.by_name) {
    const Tensor& values = *from.trainer->state().find(name);
    std::memcpy(to.trainer->state().find(name)->data(), values.data(), values.bytes());
    to.trainer->state().store(name);
  }
}

class TorchState : public testing::Test {
 protected:
  TemporaryFolder folder_;
  fs::path file_ = folder_.path() / "optimizer.safetensors";
};

TEST_F(TorchState, ATrainingGoesOnWithItToTheBit) {
  OptimizerOptions momentum;
  momentum.kind = OptimizerKind::sgd;
  for (const OptimizerOptions& optimizer : {OptimizerOptions{}, momentum}) {
    TorchTraining whole(optimizer);
    TorchTraining second(optimizer);
    whole.run(0, 3);
    copy_parameters(whole, second);
    export_optimizer(file_, whole.model, *whole.trainer);
    const bool is_adamw = optimizer.kind == OptimizerKind::adamw;
    EXPECT_EQ(import_optimizer(file_, second.model, *second.trainer), is_adamw ? 3 : 0);
    EXPECT_EQ(second.run(3, 6), whole.run(3, 6));
  }
}

TEST_F(TorchState, HasPyTorchsNamesAndOrientation) {
  TorchTraining training;
  training.run(0, 2);
  export_optimizer(file_, training.model, *training.trainer);
  const Safetensors file = open_safetensors(file_);
  const std::string name = "transformer.h.0.attn.c_attn.weight";
  ASSERT_NE(file.find(name + ".exp_avg"), nullptr);
  EXPECT_EQ(file.find(name + ".exp_avg")->shape, (Shape{32, 96})) << "a Conv1D's weight is [in, out]";
  EXPECT_EQ(file.find(name + ".exp_avg_sq")->shape, (Shape{32, 96}));
  EXPECT_EQ(file.find(name + ".step")->shape, Shape{});
  EXPECT_EQ(file.find(name + ".step")->view().as<float>()[0], 2);
}

TEST_F(TorchState, OfAnotherModelOrWithUnequalStepsIsRefused) {
  TorchTraining training;
  training.run(0, 1);
  export_optimizer(file_, training.model, *training.trainer);
  TorchTraining other;
  other.model.config.layers = 1;
  other.model.weights = random_weights(build_program(other.model.config, {}), other.model.config, 3);
  other.trainer = std::make_unique<Trainer>(other.model.config, other.model.weights, other.options, reference_backend(),
                                            other.facts);
  EXPECT_THROW(import_optimizer(file_, other.model, *other.trainer), Error);
  const Safetensors read = open_safetensors(file_);
  std::vector<NamedTensor> tensors;
  const float seven = 7;
  for (const StoredTensor& tensor : read.tensors) {
    TensorView view = tensor.view();
    if (tensor.name == "transformer.ln_f.bias.step") view.data = reinterpret_cast<const std::byte*>(&seven);
    tensors.push_back({tensor.name, view});
  }
  const fs::path unequal = folder_.path() / "unequal.safetensors";
  write_safetensors(unequal, tensors);
  try {
    import_optimizer(unequal, training.model, *training.trainer);
    FAIL() << "a parameter has seven steps, the others one";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::user);
    EXPECT_NE(std::string(error.what()).find("ln_f.bias.step"), std::string::npos) << error.what();
  }
}

TEST_F(TorchState, SquaresBelowZeroAreRefused) {
  TorchTraining training;
  training.run(0, 1);
  export_optimizer(file_, training.model, *training.trainer);
  const Safetensors read = open_safetensors(file_);
  const std::string square = "transformer.ln_f.bias.exp_avg_sq";
  Tensor below = converted(read.find(square)->view(), DType::f32);
  below.as<float>()[1] = -1;
  std::vector<NamedTensor> tensors;
  for (const StoredTensor& tensor : read.tensors)
    tensors.push_back({tensor.name, tensor.name == square ? below.view() : tensor.view()});
  const fs::path changed = folder_.path() / "below.safetensors";
  write_safetensors(changed, tensors);
  try {
    import_optimizer(changed, training.model, *training.trainer);
    FAIL() << "a mean of squares is below 0";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(square), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace assay
