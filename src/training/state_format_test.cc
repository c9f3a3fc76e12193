#include "training/state_format.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <memory>

#include "base/file.h"
#include "formats/safetensors.h"
#include "model/random_weights.h"
#include "model/testing.h"
#include "runtime/testing.h"
#include "training/checkpoint.h"
#include "training/data.h"
#include "training/folder.h"
#include "training/step.h"

namespace assay {
namespace {

/// Its feed-forward matrices are large enough for codes of 8 bits; nothing else is.
ModelConfig config_with_large_matrices() {
  ModelConfig config = small_gpt2();
  config.d_ff = 160;
  config.vocab_size = 211;
  return config;
}

/// A training whose states and gradients are kept as asked.
struct StoredTraining {
  explicit StoredTraining(const TrainingStorage& storage, const std::string& precision = "fp32",
                          const Backend& backend = reference_backend()) {
    options.precision = choose_precision(precision, "", std::nullopt);
    options.storage = storage;
    options.norms = GradientNorms::always;
    trainer = std::make_unique<Trainer>(model.config, model.weights, options, backend, facts);
    std::vector<std::int32_t> ids;
    ids.reserve(300);
    for (std::int32_t i = 0; i < 300; ++i) ids.push_back(i * i % 211);
    data = random_windows(ids, {2, 12}, 1, "text");
  }

  static Model large_enough() {
    Model made;
    made.name = "small";
    made.config = config_with_large_matrices();
    made.weights = random_weights(build_program(made.config, {}), made.config, 3);
    return made;
  }

  void run(std::int64_t until) {
    for (; progress.steps < until; ++progress.steps)
      progress.losses.push_back(run_step(*trainer, data.batch(progress.steps), progress.steps, {.seed = 7}).loss);
  }

  MachineFacts facts = plain_facts();
  Model model = large_enough();
  TrainingOptions options;
  std::unique_ptr<Trainer> trainer;
  TrainingData data;
  TrainingProgress progress;
};

TrainingStorage stored(const char* states, std::optional<DType> gradients = std::nullopt) {
  return {&find_state_format(states, "--states"), gradients};
}

TEST(StateFormats, OnlyLargeMatricesThatAreNoTablesBecomeCodes) {
  const StateFormat& codes = find_state_format("8bit", "--states");
  EXPECT_EQ(state_layout(codes, DType::bf16, 4096, {}), (StateLayout{DType::u8, Rounding::nearest, 256}));
  EXPECT_EQ(state_layout(codes, DType::bf16, 4095, {}), (StateLayout{DType::f32, Rounding::nearest, 0}));
  const ParameterKind table[] = {ParameterKind::embeddings};
  EXPECT_EQ(state_layout(codes, DType::f32, 1 << 20, table), StateLayout{});
  EXPECT_EQ(state_layout(find_state_format("weights", ""), DType::f16, 1 << 20, table).dtype, DType::f16);
  EXPECT_EQ(state_layout(find_state_format("bf16", ""), DType::f32, 10, table).rounding, Rounding::stochastic);
}

TEST(StateFormats, UnknownWordsAreRefusedWithWhatIsKnown) {
  EXPECT_EQ(user_error_of([] { find_state_format("nf4", "--states"); }),
            "--states 'nf4': weights, f32, bf16, 8bit are known");
  EXPECT_EQ(user_error_of([] { parse_gradient_dtype("int8", "--gradients"); }),
            "--gradients 'int8': weights, f32, f16 and bf16 are known");
}

TEST(StateFormats, SgdHasNoMomentsToCode) {
  TrainingOptions options;
  options.precision = choose_precision("fp32", "", std::nullopt);
  options.optimizer.kind = OptimizerKind::sgd;
  for (const char* states : {"8bit", "bf16"}) {
    options.storage = stored(states);
    const std::string error = user_error_of([&] { training_programs(config_with_large_matrices(), options); });
    EXPECT_TRUE(error.starts_with(std::string("--states ") + states)) << error;
  }
}

/// Bytes of each use, and the dtypes by the names of what is kept.
TEST(StoredStates, TakeTheBytesThatTheirFormatSays) {
  const StateBytes usual = state_bytes_by_use(StoredTraining(stored("weights")).trainer->programs());
  EXPECT_EQ(usual.moments, 2 * usual.parameters);
  EXPECT_EQ(usual.gradients, usual.parameters);
  const StateBytes half = state_bytes_by_use(StoredTraining(stored("bf16", DType::bf16)).trainer->programs());
  EXPECT_EQ(half.parameters, usual.parameters);
  EXPECT_EQ(half.moments, usual.parameters);
  EXPECT_EQ(half.gradients, usual.parameters / 2);
  const StateBytes coded = state_bytes_by_use(StoredTraining(stored("8bit")).trainer->programs());
  // Of each of the four matrices of 32 x 160: a byte an element and moment, and 20 scales, in place of 4 bytes each.
  const std::int64_t elements = std::int64_t{4} * 32 * 160;
  EXPECT_EQ(coded.moments, usual.moments - 2 * 4 * elements + 2 * (elements + 4 * elements / 256));
  EXPECT_EQ(state_bytes(StoredTraining(stored("8bit")).trainer->programs()), coded.total());
}

TEST(StoredStates, MomentsOf16BitWeightsCanBeF32) {
  const StoredTraining training(stored("f32"), "bf16");
  for (const auto& [name, tensor] : training.trainer->state().tensors()) {
    const bool is_moment = name.starts_with("optimizer.");
    EXPECT_EQ(tensor.dtype(), is_moment ? DType::f32 : DType::bf16) << name;
  }
}

/// Six steps are three, a checkpoint, and three more, to the bit: codes, scales and random numbers go on where they
/// were.
TEST(StoredStates, GoOnFromACheckpointToTheBit) {
  const TemporaryFolder folder;
  for (const TrainingStorage& storage :
       {stored("8bit", DType::bf16), stored("bf16"), stored("f32", DType::bf16), stored("8bit")}) {
    for (const char* precision : {"fp32", "bf16"}) {
      std::vector<std::string> notes;
      StoredTraining whole(storage, precision);
      whole.run(6);
      StoredTraining first(storage, precision);
      first.run(3);
      const auto path = folder.path() / (storage.words() + precision);
      TrainingFolder held(path, notes);
      save_training(held, first.model, *first.trainer, first.progress);
      StoredTraining second(storage, precision);
      second.progress = resume_training(held.path(), second.model, *second.trainer, second.progress.options, notes);
      second.run(6);
      EXPECT_EQ(second.progress.losses, whole.progress.losses) << storage.words() << " " << precision;
      for (const auto& [name, tensor] : whole.trainer->state().tensors()) {
        const Tensor& again = *second.trainer->state().find(name);
        ASSERT_EQ(again.bytes(), tensor.bytes()) << name;
        EXPECT_EQ(std::memcmp(again.data(), tensor.data(), tensor.bytes()), 0) << storage.words() << " " << name;
      }
    }
  }
}

/// A checkpoint of other states is none of this training's.
TEST(StoredStates, OthersThanTheCheckpointsAreRefused) {
  const TemporaryFolder folder;
  std::vector<std::string> notes;
  StoredTraining coded(stored("8bit"));
  coded.run(1);
  TrainingFolder held(folder.path() / "run", notes);
  save_training(held, coded.model, *coded.trainer, coded.progress);
  StoredTraining usual(stored("weights"));
  const std::string error =
      user_error_of([&] { resume_training(held.path(), usual.model, *usual.trainer, usual.progress.options, notes); });
  EXPECT_NE(error.find("optimizer.safetensors"), std::string::npos) << error;
}

/// Codes have steps of 1.4 % of a block's largest moment: a training with them stays near the one without, and is
/// another one.
TEST(StoredStates, ChangeLossesLittle) {
  const auto losses = [](const TrainingStorage& storage) {
    StoredTraining training(storage, "fp32", cpu_backend());
    training.run(30);
    return training.progress.losses;
  };
  const std::vector<double> usual = losses(stored("weights"));
  ASSERT_LT(usual.back(), usual.front() - 0.3) << "it learns";
  for (const TrainingStorage& storage :
       {stored("8bit"), stored("bf16"), stored("weights", DType::bf16), stored("8bit", DType::bf16)}) {
    const std::vector<double> mine = losses(storage);
    EXPECT_NEAR(mine.back(), usual.back(), 0.05) << storage.words();
    EXPECT_NE(mine.back(), usual.back()) << storage.words();
  }
}

}  // namespace
}  // namespace assay
