#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "formats/safetensors.h"
#include "hardware/machine.h"
#include "model/lora.h"
#include "model/testing.h"
#include "program/kept_weights.h"
#include "quality/loss.h"
#include "studies/shared/engine.h"
#include "studies/shared/training_step.h"
#include "training/checkpoint.h"

// Adapters against PEFT's (tools/generate_lora_fixtures.py): what they compute, their gradients, steps and files.

namespace assay {
namespace {

namespace fs = std::filesystem;

const fs::path lora_fixtures = ASSAY_SOURCE_DIR "/tests/fixtures/lora";

const MachineFacts& lora_facts() {
  static const MachineFacts read = read_machine_facts({.max_isa = "", .threads = 2});
  return read;
}

struct LoraCase {
  const char* name;
  const char* model;
};
constexpr LoraCase lora_cases[] = {{"gpt2", "gpt2"},
                                   {"gpt2-all", "gpt2-untied"},
                                   {"llama", "llama-untied"},
                                   {"gpt-neox", "gpt-neox"},
                                   {"bert-classifier", "bert-classifier"}};

class LoraParity : public testing::TestWithParam<LoraCase> {
 protected:
  fs::path folder() const { return lora_fixtures / GetParam().name; }
  Model open() const {
    return open_model((model_fixtures / GetParam().model).string(), {.checkpoint = {}, .lora_from = folder()});
  }
  fs::path tokens_file() const { return model_fixtures / GetParam().model / "cases/plain.json"; }
  TrainingBatch batch(const Model& model) const {
    return training_batch(model, load_token_json(tokens_file()), tokens_file().string());
  }
  Safetensors expected() const { return open_safetensors(folder() / "expected.safetensors"); }
};

double lora_largest(const TensorView& view) {
  double most = 0;
  for (std::int64_t i = 0; i < view.count(); ++i)
    most = std::max(most, std::abs(static_cast<double>(view.as<float>()[i])));
  return most;
}

double lora_difference(const TensorView& right, const TensorView& got) {
  EXPECT_EQ(right.shape, got.shape);
  double most = 0;
  for (std::int64_t i = 0; i < std::min(right.count(), got.count()); ++i)
    most = std::max(most, std::abs(static_cast<double>(right.as<float>()[i]) - got.as<float>()[i]));
  return most;
}

Tensor logits_of(const Model& model, const TokenBatch& batch, const std::string& precision, const char* device) {
  EngineOptions engine;
  engine.device = device;
  if (!batch.token_types.empty()) engine.program.token_types = TokenTypes::given;
  const auto instance = make_instance(model, precision, engine, lora_facts());
  Plan plan(*instance, {.extent = {batch.batch, batch.seq},
                        .mask = batch.attention_mask.empty() ? AttentionMask::absent : AttentionMask::given,
                        .outputs = {"logits"}});
  plan.set_inputs(batch.input_ids, batch.attention_mask, batch.token_types);
  plan.run();
  return plan.output_f32("logits");
}

TEST_P(LoraParity, LogitsAreThoseOfPeftBesideTheModelAndAddedToIt) {
  const Model model = open();
  const TokenBatch tokens = load_token_json(tokens_file());
  const Safetensors file = expected();
  const TensorView right = file.find("logits")->view();
  for (const char* device : {"cpu", "reference"}) {
    const Tensor beside = logits_of(model, tokens, "fp32", device);
    EXPECT_LE(lora_difference(right, beside.view()), 2e-5 * lora_largest(right)) << device;
    const Tensor merged = logits_of(with_merged_lora(model), tokens, "fp32", device);
    EXPECT_LE(lora_difference(right, merged.view()), 2e-5 * lora_largest(right)) << device << ", merged";
  }
  const Model bare = open_model((model_fixtures / GetParam().model).string(), {});
  const Tensor without = logits_of(bare, tokens, "fp32", "cpu");
  EXPECT_GT(lora_difference(right, without.view()), 1e-3 * lora_largest(right)) << "the adapters do something";
}

/// The training's own options; `base`: how the model is kept.
TrainingOptions lora_options(const Model& model, const char* precision, const char* base = "") {
  TrainingOptions options;
  options.precision = choose_precision(precision, "", DType::bf16);
  if (*base != 0) options.base = FrozenBase{find_precision(base), model.weights.formats()};
  if (model.config.token_types > 0) options.token_types = TokenTypes::zero;
  return options;
}

/// By their names in PEFT's files.
std::map<std::string, Tensor> lora_gradients(const Model& model, const TrainingBatch& batch, TrainingOptions options,
                                             const char* device) {
  options.parts = StepParts::forward_backward;
  if (!batch.token_types.empty()) options.token_types = TokenTypes::given;
  Trainer trainer(model.config, model.weights, options, find_backend(device), lora_facts());
  trainer.set_batch(batch);
  trainer.forward();
  trainer.backward();
  std::map<std::string, Tensor> found;
  for (const auto& [name, weight] : model.weights.by_name) {
    const Tensor* gradient = trainer.state().find("grad." + name);
    if (gradient == nullptr) continue;
    found["grad." + adapter_file_name(name, model.config)] =
        to_stored(converted(gradient->view(), DType::f32).view(), adapter_file_order(name, model.config), model.config);
  }
  return found;
}

std::size_t count_beginning(const Safetensors& file, std::string_view beginning) {
  return static_cast<std::size_t>(std::count_if(file.tensors.begin(), file.tensors.end(), [&](const auto& tensor) {
    return tensor.name.starts_with(beginning);
  }));
}

TEST_P(LoraParity, GradientsAreThoseOfPeftAndThereAreNoOthers) {
  const Model model = open();
  const Safetensors file = expected();
  for (const Recompute recompute : {Recompute::none, Recompute::block}) {
    for (const Fusion fusion : {Fusion::on, Fusion::off}) {
      for (const char* device : {"cpu", "reference"}) {
        TrainingOptions options = lora_options(model, "fp32");
        options.recompute = recompute;
        options.fusion = fusion;
        const auto found = lora_gradients(model, batch(model), options, device);
        EXPECT_EQ(found.size(), count_beginning(file, "grad."));
        for (const auto& [name, gradient] : found) {
          ASSERT_NE(file.find(name), nullptr) << name;
          const TensorView right = file.find(name)->view();
          EXPECT_LE(lora_difference(right, gradient.view()), 2e-4 * lora_largest(right) + 1e-7) << device << name;
        }
      }
    }
  }
}

/// What a base of fewer bits makes of the model's weights, as a model of plain weights. Tables are kept in the dtype of
/// activations: f32, as in the training here, where no 16-bit type is native.
Model with_weights_of(const Model& model, const char* base) {
  EngineOptions engine;
  engine.fusion = Fusion::off;
  engine.device = "reference";
  Model plain = model;
  const auto instance = make_instance(model, base, engine, read_machine_facts({.max_isa = "avx2", .threads = 2}));
  const Program& program = instance->program();
  for (const KeptWeight& kept : kept_weights(program)) {
    const Weight& weight = model.weights.at(kept.name);
    if (weight.shape.size() != 2 || is_trained_beside_adapters(kept.name, model.config)) continue;
    Packing packing;
    packing.dtype = program.value(kept.value).dtype;
    const std::byte* values = instance->hold(kept.value, packing).data;
    auto wide = std::make_shared<Tensor>(DType::f32, weight.shape);
    const std::int64_t in = weight.shape[1];
    const float* scales = nullptr;
    if (kept.scales != no_value) scales = reinterpret_cast<const float*>(instance->hold(kept.scales, {}).data);
    for (std::int64_t row = 0; row < weight.shape[0]; ++row) {
      float* to = wide->as<float>() + row * in;
      if (kept.blocks != nullptr) {
        const std::int64_t row_bytes = kept.blocks->bytes_of(in);
        std::vector<float> all(static_cast<std::size_t>(kept.blocks->values_in(row_bytes)));
        expand_blocks(*kept.blocks, {values + row * row_bytes, static_cast<std::size_t>(row_bytes)}, all);
        std::copy_n(all.begin(), in, to);
      } else {
        convert(packing.dtype, values + row * in * static_cast<std::int64_t>(size_of(packing.dtype)), DType::f32, to,
                static_cast<std::size_t>(in));
        for (std::int64_t i = 0; scales != nullptr && i < in; ++i) to[i] *= scales[row];
      }
    }
    plain.weights.by_name[kept.name].load = [wide] { return WeightData{wide->view(), {}}; };
  }
  return plain;
}

double gradient_error(const std::map<std::string, Tensor>& right, const std::map<std::string, Tensor>& got) {
  double error = 0;
  double total = 0;
  EXPECT_EQ(right.size(), got.size());
  for (const auto& [name, tensor] : right) {
    for (std::int64_t i = 0; i < tensor.count(); ++i) {
      error += std::pow(static_cast<double>(tensor.as<float>()[i]) - got.at(name).as<float>()[i], 2);
      total += std::pow(static_cast<double>(tensor.as<float>()[i]), 2);
    }
  }
  return std::sqrt(error / total);
}

/// Gradients pass through the weights that the base stands for: those of a model that has just these in f32.
TEST_P(LoraParity, GradientsThroughABaseOfFewerBitsAreThoseOfItsValues) {
  const Model model = open();
  for (const char* base : {"int8-weights", "int4-weights", "int4-weights-zp"}) {
    const Model plain = with_weights_of(model, base);
    const auto right = lora_gradients(plain, batch(model), lora_options(model, "fp32"), "reference");
    const auto exact = lora_gradients(model, batch(model), lora_options(model, "fp32"), "reference");
    for (const char* device : {"cpu", "reference"}) {
      const auto got = lora_gradients(model, batch(model), lora_options(model, "fp32", base), device);
      EXPECT_LE(gradient_error(right, got), 1e-4) << base << " " << device;
      EXPECT_GT(gradient_error(exact, got), 1e-3) << base << ": the base is no other than the model";
    }
    const auto mixed = lora_gradients(model, batch(model), lora_options(model, "mixed-bf16", base), "cpu");
    EXPECT_LE(gradient_error(right, mixed), 0.1) << base;
  }
}

TEST_P(LoraParity, FiveStepsEndWherePeftDoes) {
  const Safetensors file = expected();
  if (file.find("losses") == nullptr) GTEST_SKIP() << "no steps of it were taken";
  const Model model = open();
  TrainingOptions options = lora_options(model, "fp32");
  options.optimizer.learning_rate = 1e-2;
  const TrainingBatch step = batch(model);
  if (!step.token_types.empty()) options.token_types = TokenTypes::given;
  Trainer trainer(model.config, model.weights, options, cpu_backend(), lora_facts());
  trainer.set_batch(step);
  for (std::int64_t i = 0; i < 5; ++i) {
    EXPECT_NEAR(trainer.forward(), file.find("losses")->view().as<float>()[i], 2e-5);
    trainer.backward();
    trainer.update(i);
  }
  for (const auto& [name, weight] : model.weights.by_name) {
    const StoredTensor* after = file.find("after." + adapter_file_name(name, model.config));
    if (after == nullptr) continue;
    EXPECT_LE(lora_difference(after->view(), trainer.state().find(name)->view()), 1e-4) << name;
  }
}

/// The files are read back as they were, under PEFT's names.
TEST_P(LoraParity, WhatIsSavedHoldsTheSameTensors) {
  const Model model = open();
  Trainer trainer(model.config, model.weights, lora_options(model, "fp32"), cpu_backend(), lora_facts());
  const TemporaryFolder temporary;
  const fs::path out = temporary.path() / "run";
  {
    std::vector<std::string> notes;
    TrainingFolder held(out, notes);
    save_training(held, model, trainer, {.steps = 0, .losses = {}, .options = Json::object()});
  }
  EXPECT_FALSE(fs::exists(out / "model.safetensors")) << "the model stays where it is";
  const Safetensors wrote = open_safetensors(out / adapter_weights_file);
  const Safetensors read = open_safetensors(folder() / adapter_weights_file);
  ASSERT_EQ(wrote.tensors.size(), read.tensors.size());
  for (const StoredTensor& tensor : read.tensors) {
    ASSERT_NE(wrote.find(tensor.name), nullptr) << tensor.name;
    EXPECT_EQ(lora_difference(tensor.view(), wrote.find(tensor.name)->view()), 0) << tensor.name;
  }
  const Model again = open_model((model_fixtures / GetParam().model).string(), {.checkpoint = {}, .lora_from = out});
  EXPECT_EQ(again.config.adapters, model.config.adapters);
}

INSTANTIATE_TEST_SUITE_P(Peft, LoraParity, testing::ValuesIn(lora_cases),
                         [](const auto& tested) { return test_name(tested.param.name); });

}  // namespace
}  // namespace assay
