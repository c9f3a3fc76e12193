#include "training/checkpoint.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <set>

#include "base/file.h"
#include "formats/safetensors.h"
#include "model/presets.h"
#include "model/testing.h"
#include "runtime/testing.h"
#include "training/data.h"
#include "training/folder_swap.h"
#include "training/step.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

Model small_model() {
  Model model;
  model.name = "small";
  model.config = small_gpt2();
  model.weights = random_weights(build_program(model.config, {}), model.config, 3);
  return model;
}

/// A training of a small model on one text.
struct Training {
  explicit Training(const std::string& precision) : facts(plain_facts()), options(training_options(precision)) {
    trainer = std::make_unique<Trainer>(model.config, model.weights, options, reference_backend(), facts);
    std::vector<std::int32_t> ids;
    ids.reserve(400);
    for (std::int32_t i = 0; i < 400; ++i) ids.push_back(i * i % 97);
    data = random_windows(ids, {2, 12}, 1, "text");
    progress.options = {{"--lr", 1e-3}, {"--precision", precision}};
  }

  static TrainingOptions training_options(const std::string& precision) {
    TrainingOptions wanted;
    wanted.precision = choose_precision(precision, "", std::nullopt);
    wanted.dropout = 0.1;
    return wanted;
  }

  void run(std::int64_t until) {
    for (; progress.steps < until; ++progress.steps)
      progress.losses.push_back(run_step(*trainer, data.batch(progress.steps), progress.steps, {.seed = 7}).loss);
  }
  void resume(const fs::path& folder) { progress = resume_training(folder, model, *trainer, progress.options); }

  MachineFacts facts;
  Model model = small_model();
  TrainingOptions options;
  std::unique_ptr<Trainer> trainer;
  TrainingData data;
  TrainingProgress progress;
};

class Checkpoint : public testing::Test {
 protected:
  TemporaryFolder folder_;
  fs::path out_ = folder_.path() / "run";
};

TEST_F(Checkpoint, SixStepsAreThreeAndThreeMoreToTheBit) {
  for (const std::string precision : {"fp32", "bf16", "mixed-bf16", "mixed-fp16"}) {
    Training whole(precision);
    whole.run(6);
    save_training(folder_.path() / "whole", whole.model, *whole.trainer, whole.progress);
    Training first(precision);
    first.run(3);
    save_training(out_, first.model, *first.trainer, first.progress);
    Training second(precision);
    second.resume(out_);
    EXPECT_EQ(second.progress.steps, 3);
    second.run(6);
    save_training(out_, second.model, *second.trainer, second.progress);
    EXPECT_EQ(second.progress.losses, whole.progress.losses) << precision;
    for (const char* file : {"model.safetensors", "optimizer.safetensors", "training.json"})
      EXPECT_EQ(read_file(out_ / file), read_file(folder_.path() / "whole" / file)) << precision << " " << file;
  }
}

TEST_F(Checkpoint, TheFolderOpensAsAModelWithTheTrainedWeights) {
  Training training("fp32");
  training.run(2);
  save_training(out_, training.model, *training.trainer, training.progress);
  const Model opened = open_model(out_.string(), {});
  for (const auto& [name, weight] : opened.weights.by_name) {
    const WeightData data = weight.load();
    const Tensor& trained = *training.trainer->state().find(name);
    ASSERT_EQ(data.view.shape, trained.shape()) << name;
    EXPECT_EQ(std::memcmp(data.view.data, trained.data(), trained.bytes()), 0) << name;
  }
  const Safetensors file = open_safetensors(out_ / "model.safetensors");
  EXPECT_EQ(file.find("transformer.h.0.attn.c_attn.weight")->shape, (Shape{32, 96})) << "GPT-2 stores [in, out]";
  EXPECT_EQ(file.find("lm_head.weight"), nullptr) << "tied: once";
}

TEST_F(Checkpoint, OtherOptionsAreRefusedByName) {
  Training training("fp32");
  save_training(out_, training.model, *training.trainer, training.progress);
  training.progress.options["--lr"] = 1e-2;
  EXPECT_NE(user_error_of([&] { training.resume(out_); }).find("--lr 0.001, not 0.01"), std::string::npos);
}

TEST_F(Checkpoint, ADamagedOneIsRefused) {
  Training training("fp32");
  save_training(out_, training.model, *training.trainer, training.progress);
  fs::resize_file(out_ / "optimizer.safetensors", 1000);
  EXPECT_NE(user_error_of([&] { training.resume(out_); }).find("optimizer.safetensors"), std::string::npos);
  std::ofstream(out_ / "training.json") << "{}";
  EXPECT_NE(user_error_of([&] { training.resume(out_); }).find("training.json"), std::string::npos);
}

TEST_F(Checkpoint, OnlyAFolderOfOursOrAnEmptyOneIsWrittenTo) {
  check_training_folder(out_);
  fs::create_directory(out_);
  check_training_folder(out_);
  std::ofstream(out_ / "thesis.txt") << "years of work";
  EXPECT_NE(user_error_of([&] { check_training_folder(out_); }).find("no training of ours"), std::string::npos);
  EXPECT_NE(user_error_of([&] { check_training_folder(out_ / "thesis.txt"); }).find("is a file"), std::string::npos);
  EXPECT_NE(user_error_of([&] { check_training_folder(out_ / "a" / "b"); }).find("cannot be written"),
            std::string::npos);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path()), fs::directory_iterator()), 1) << "nothing stays";
}

TEST_F(Checkpoint, ASwapReplacesTheFolderAndLeavesNothingBeside) {
  for (const char* content : {"one", "two"}) {
    const fs::path sibling = make_sibling(out_);
    std::ofstream(sibling / "file") << content;
    put_in_place(sibling, out_);
    EXPECT_EQ(read_file(out_ / "file"), content);
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path()), fs::directory_iterator()), 1);
}

TEST_F(Checkpoint, WhatADeadProcessLeftIsRemoved) {
  constexpr const char* no_process = "2147483647";  // above the largest process number of Linux
  fs::create_directory(folder_.path() / (std::string("run.tmp-") + no_process));
  fs::create_directory(folder_.path() / "run.tmp-1");
  fs::create_directory(folder_.path() / "run.tmp-notes");
  remove_abandoned(out_);
  std::set<std::string> left;
  for (const auto& entry : fs::directory_iterator(folder_.path())) left.insert(entry.path().filename().string());
  EXPECT_EQ(left, (std::set<std::string>{"run.tmp-1", "run.tmp-notes"}));
}

}  // namespace
}  // namespace assay
