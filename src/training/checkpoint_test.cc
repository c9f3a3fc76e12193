#include "training/checkpoint.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <functional>
#include <limits>
#include <set>

#include "base/file.h"
#include "base/json.h"
#include "formats/safetensors.h"
#include "model/lora.h"
#include "model/random_weights.h"
#include "model/testing.h"
#include "runtime/testing.h"
#include "training/data.h"
#include "training/folder.h"
#include "training/manifest.h"
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
  void save(const fs::path& folder) {
    TrainingFolder held(folder, notes);
    save_training(held, model, *trainer, progress);
  }
  void resume(const fs::path& folder) {
    const TrainingFolder held(folder, notes);
    progress = resume_training(held.path(), model, *trainer, progress.options, notes);
  }

  MachineFacts facts;
  Model model = small_model();
  TrainingOptions options;
  std::unique_ptr<Trainer> trainer;
  TrainingData data;
  TrainingProgress progress;
  std::vector<std::string> notes;
};

std::set<std::string> names_in(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename().string());
  return names;
}

class Checkpoint : public testing::Test {
 protected:
  TemporaryFolder folder_;
  fs::path out_ = folder_.path() / "run";
};

TEST_F(Checkpoint, SixStepsAreThreeAndThreeMoreToTheBit) {
  for (const std::string precision : {"fp32", "bf16", "mixed-bf16", "mixed-fp16"}) {
    Training whole(precision);
    whole.run(6);
    whole.save(folder_.path() / "whole");
    Training first(precision);
    first.run(3);
    first.save(out_);
    Training second(precision);
    second.resume(out_);
    EXPECT_EQ(second.progress.steps, 3);
    second.run(6);
    second.save(out_);
    EXPECT_EQ(second.progress.losses, whole.progress.losses) << precision;
    for (const char* file : {"model.safetensors", "optimizer.safetensors", "training.json"})
      EXPECT_EQ(read_file(out_ / file), read_file(folder_.path() / "whole" / file)) << precision << " " << file;
  }
}

/// Adapters alone are in the files, whatever the model is kept in, and the model is untouched.
TEST_F(Checkpoint, SixStepsOfAdaptersAreThreeAndThreeMoreToTheBit) {
  struct Way {
    const char* precision;
    const char* base;
  };
  for (const Way way : {Way{"fp32", ""}, {"mixed-bf16", ""}, {"bf16", "int4-weights"}, {"fp32", "int8-weights"}}) {
    const auto adapt = [&](Training& training) {
      training.model = with_fresh_lora(small_model(), {.rank = 3, .modules = {"c_attn", "c_fc"}}, 5);
      training.options.adapter_dropout = 0.2;
      if (*way.base != 0) training.options.base = FrozenBase{find_precision(way.base)};
      training.trainer = std::make_unique<Trainer>(training.model.config, training.model.weights, training.options,
                                                   reference_backend(), training.facts);
    };
    Training whole(way.precision);
    adapt(whole);
    whole.run(6);
    whole.save(folder_.path() / "whole");
    Training first(way.precision);
    adapt(first);
    first.run(3);
    first.save(out_);
    Training second(way.precision);
    adapt(second);
    second.resume(out_);
    second.run(6);
    second.save(out_);
    EXPECT_EQ(second.progress.losses, whole.progress.losses) << way.precision;
    for (const char* file : {adapter_weights_file, "optimizer.safetensors", "training.json"})
      EXPECT_EQ(read_file(out_ / file), read_file(folder_.path() / "whole" / file)) << way.precision << " " << file;
    EXPECT_EQ(names_in(out_), (std::set<std::string>{adapter_config_file, adapter_weights_file, "optimizer.safetensors",
                                                     "training.json", "manifest.json"}));
    EXPECT_LT(fs::file_size(out_ / adapter_weights_file), 12000U) << "two layers of (3, 32) and what belongs to it";
    for (const auto& [name, tensor] : whole.trainer->state().tensors())
      EXPECT_NE(name.find(".lora_"), std::string::npos) << name << " is no part of an adapter";
  }
}

/// A folder that held a whole model does not keep it beside adapters.
TEST_F(Checkpoint, AdaptersTakeThePlaceOfAModelAndTheOtherWayRound) {
  Training model("fp32");
  model.run(1);
  Training adapters("fp32");
  adapters.model = with_fresh_lora(small_model(), {.rank = 2}, 5);
  adapters.trainer = std::make_unique<Trainer>(adapters.model.config, adapters.model.weights, adapters.options,
                                               reference_backend(), adapters.facts);
  adapters.run(1);
  model.save(out_);
  adapters.save(out_);
  EXPECT_FALSE(fs::exists(out_ / "model.safetensors"));
  EXPECT_FALSE(fs::exists(out_ / "config.json"));
  model.save(out_);
  EXPECT_FALSE(fs::exists(out_ / adapter_weights_file));
  EXPECT_FALSE(fs::exists(out_ / adapter_config_file));
}

TEST_F(Checkpoint, TheFolderOpensAsAModelWithTheTrainedWeights) {
  Training training("fp32");
  training.run(2);
  training.save(out_);
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
  training.save(out_);
  training.progress.options["--lr"] = 1e-2;
  EXPECT_NE(user_error_of([&] { training.resume(out_); }).find("--lr 0.001, not 0.01"), std::string::npos);
}

TEST_F(Checkpoint, ADamagedOneIsRefused) {
  Training training("fp32");
  training.save(out_);
  fs::resize_file(out_ / "optimizer.safetensors", 1000);
  EXPECT_NE(user_error_of([&] { training.resume(out_); }).find("optimizer.safetensors"), std::string::npos);
  std::ofstream(out_ / "training.json") << "{}";
  EXPECT_NE(user_error_of([&] { training.resume(out_); }).find("training.json"), std::string::npos);
}

TEST_F(Checkpoint, OnlyAFolderOfOursOrAnEmptyOneIsWrittenTo) {
  const auto claim = [](const fs::path& folder) {
    std::vector<std::string> notes;
    const TrainingFolder held(folder, notes);
  };
  claim(out_);
  EXPECT_FALSE(fs::exists(out_)) << "made and left empty";
  fs::create_directory(out_);
  claim(out_);
  EXPECT_TRUE(fs::is_empty(out_)) << "the user's own stays";
  std::ofstream(out_ / "thesis.txt") << "years of work";
  EXPECT_NE(user_error_of([&] { claim(out_); }).find("no training of ours"), std::string::npos);
  EXPECT_NE(user_error_of([&] { claim(out_ / "thesis.txt"); }).find("is a file"), std::string::npos);
  EXPECT_NE(user_error_of([&] { claim(out_ / "a" / "b"); }).find("cannot be written"), std::string::npos);
  std::ofstream(out_ / "training.json") << R"({"format": "of another program"})";
  EXPECT_NE(user_error_of([&] { claim(out_); }).find("no training of ours"), std::string::npos);
  EXPECT_EQ(names_in(folder_.path()), (std::set<std::string>{"run"})) << "nothing stays beside it";
  EXPECT_EQ(names_in(out_), (std::set<std::string>{"thesis.txt", "training.json"}));
}

TEST_F(Checkpoint, WhatTheUserPutThereStays) {
  Training training("fp32");
  training.save(out_);
  std::ofstream(out_ / "notes.txt") << "mine";
  fs::create_directory(folder_.path() / "run.tmp-20261122");
  std::ofstream(folder_.path() / "run.tmp-20261122" / "data") << "mine";
  fs::create_directory(folder_.path() / "run.tmp-2147483647");  // No process has that number.
  training.run(1);
  training.save(out_);
  EXPECT_EQ(read_file(out_ / "notes.txt"), "mine");
  EXPECT_EQ(names_in(folder_.path()), (std::set<std::string>{"run", "run.tmp-20261122", "run.tmp-2147483647"}));
}

TEST_F(Checkpoint, FoldersOfOurNamesWithoutOurMarkerAreRefusedAndStay) {
  Training training("fp32");
  training.save(out_);
  for (const char* name : {".saving", ".saved"}) {
    fs::create_directory(out_ / name);
    training.save(out_);
    EXPECT_FALSE(fs::exists(out_ / name)) << "an empty one may go";
    fs::create_directory(out_ / name);
    std::ofstream(out_ / name / "thesis.txt") << "years of work";
    EXPECT_NE(user_error_of([&] { training.save(out_); }).find("is not of assay"), std::string::npos);
    EXPECT_EQ(read_file(out_ / name / "thesis.txt"), "years of work");
    fs::remove_all(out_ / name);
    std::ofstream(out_ / name) << "a file";
    EXPECT_NE(user_error_of([&] { training.save(out_); }).find("is not of assay"), std::string::npos);
    EXPECT_EQ(read_file(out_ / name), "a file");
    fs::remove(out_ / name);
  }
}

TEST_F(Checkpoint, ASecondTrainingIsRefused) {
  std::vector<std::string> notes;
  {
    const TrainingFolder held(out_, notes);
    EXPECT_NE(user_error_of([&] { TrainingFolder(out_, notes); }).find("another process"), std::string::npos);
  }
  const TrainingFolder after(out_, notes);
}

/// What a kill leaves: the folder before, and a new checkpoint of which the first files are in place.
class KilledCheckpoint : public Checkpoint {
 protected:
  KilledCheckpoint() {
    Training before("fp32");
    before.run(2);
    before.save(before_);
    before.run(3);
    before.save(after_);
  }

  /// Names of files in the order in which they are put in place.
  std::vector<std::string> moved_in_order() const {
    return {"config.json", "model.safetensors", "optimizer.safetensors", "training.json", "manifest.json"};
  }

  void put(const fs::path& files, const fs::path& inside) const {
    fs::create_directory(inside);
    std::ofstream(inside / "written-by-assay");
    for (const std::string& name : moved_in_order()) fs::copy_file(files / name, inside / name);
  }

  /// Goes on to step 4 and compares with a training that nobody killed.
  void expect_same_end(std::int64_t taken_up_at) {
    Training resumed("fp32");
    resumed.resume(out_);
    EXPECT_EQ(resumed.progress.steps, taken_up_at);
    EXPECT_TRUE(resumed.notes.empty());
    resumed.run(4);
    resumed.save(out_);
    Training whole("fp32");
    whole.run(4);
    whole.save(folder_.path() / "whole");
    for (const std::string& name : moved_in_order())
      EXPECT_EQ(read_file(out_ / name), read_file(folder_.path() / "whole" / name)) << name;
    EXPECT_EQ(names_in(out_), names_in(folder_.path() / "whole"));
    EXPECT_EQ(names_in(folder_.path()), (std::set<std::string>{"before", "after", "whole", "run"}));
  }

  fs::path before_ = folder_.path() / "before";
  fs::path after_ = folder_.path() / "after";
};

TEST_F(KilledCheckpoint, WhileItIsWrittenTheOneBeforeCounts) {
  const std::vector<std::string> files = moved_in_order();
  for (std::size_t written = 0; written <= files.size(); ++written) {
    fs::remove_all(out_);
    fs::copy(before_, out_);
    put(after_, out_ / ".saving");
    for (std::size_t i = written; i < files.size(); ++i) fs::remove(out_ / ".saving" / files[i]);
    if (written < files.size()) std::ofstream(out_ / ".saving" / (files[written] + ".tmp-a1B2c3")) << "half";
    expect_same_end(2);
  }
}

TEST_F(KilledCheckpoint, BetweenAnyTwoRenamesTheNewOneCounts) {
  const std::vector<std::string> files = moved_in_order();
  for (std::size_t moved = 0; moved <= files.size(); ++moved) {
    fs::remove_all(out_);
    fs::copy(before_, out_);
    put(after_, out_ / ".saved");
    for (std::size_t i = 0; i < moved; ++i) fs::rename(out_ / ".saved" / files[i], out_ / files[i]);
    expect_same_end(3);
  }
}

TEST_F(KilledCheckpoint, TheFirstOneEverCountsOnceItIsWhole) {
  fs::create_directory(out_);
  put(after_, out_ / ".saved");
  fs::rename(out_ / ".saved" / "config.json", out_ / "config.json");
  expect_same_end(3);
}

TEST_F(KilledCheckpoint, ADamagedNewOneReplacesNothing) {
  fs::copy(before_, out_);
  put(after_, out_ / ".saved");
  fs::resize_file(out_ / ".saved" / "model.safetensors", 1000);
  Training resumed("fp32");
  EXPECT_NE(user_error_of([&] { resumed.resume(out_); }).find(".saved/model.safetensors"), std::string::npos);
  EXPECT_EQ(read_file(out_ / "model.safetensors"), read_file(before_ / "model.safetensors"));
}

/// Who opens the model while another training's files come into place finds them together or not at all.
TEST_F(KilledCheckpoint, WeightsNeverStandBesideAnotherModelsConfiguration) {
  fs::copy(before_, out_);
  std::ofstream(out_ / "vocab.json") << "{}";
  Json manifest = parse_json(read_file(out_ / "manifest.json"), "manifest.json");
  manifest["files"]["vocab.json"] = {{"bytes", 2}, {"sha256", ""}};
  std::ofstream(out_ / "manifest.json") << manifest.dump();
  std::ofstream(out_ / "config.json") << R"({"of": "another model"})";
  put(after_, out_ / ".saved");
  fs::remove(out_ / "optimizer.safetensors");
  fs::create_directory(out_ / "optimizer.safetensors");  // Stops it behind the model's own files.
  std::vector<std::string> notes;
  user_error_of([&] { TrainingFolder(out_, notes); });
  EXPECT_EQ(read_file(out_ / "config.json"), read_file(after_ / "config.json"));
  EXPECT_EQ(read_file(out_ / "model.safetensors"), read_file(after_ / "model.safetensors"));
  EXPECT_FALSE(fs::exists(out_ / "vocab.json")) << "the other model's";
  fs::remove(out_ / "model.safetensors");
  fs::copy_file(after_ / "model.safetensors", out_ / ".saved" / "model.safetensors");
  std::ofstream(out_ / "config.json") << R"({"of": "another model"})";
  fs::copy_file(after_ / "config.json", out_ / ".saved" / "config.json");
  std::ofstream(out_ / "model.safetensors") << "another model's";
  fs::create_directory(out_ / "tokenizer.json");
  std::ofstream(out_ / ".saved" / "tokenizer.json") << "{}";
  user_error_of([&] { TrainingFolder(out_, notes); });
  EXPECT_FALSE(fs::exists(out_ / "model.safetensors")) << "no weights beside a configuration that is not theirs";
  EXPECT_TRUE(fs::exists(out_ / ".saved" / "model.safetensors"));
}

/// One entry of training.json, or a tensor, that no training of this model can have written.
class FalseCheckpoint : public Checkpoint {
 protected:
  FalseCheckpoint() {
    Training training("fp32");
    training.run(3);
    training.save(out_);
    progress_ = read_file(out_ / "training.json");
  }

  std::string refused() {
    Training other("fp32");
    return user_error_of([&] { other.resume(out_); });
  }

  /// Without the manifest that would tell of it at once.
  std::string refused_progress(const std::function<void(Json&)>& change) {
    fs::remove(out_ / "manifest.json");
    Json json = parse_json(progress_, "training.json");
    change(json);
    std::ofstream(out_ / "training.json") << json.dump();
    return refused();
  }

  std::string refused_tensors(const char* file, const std::string& name,
                              const std::function<Tensor(const StoredTensor&)>& change) {
    fs::remove(out_ / "manifest.json");
    const std::string before = read_file(out_ / file);
    {
      const Safetensors stored = open_safetensors(out_ / file);
      const Tensor changed = change(*stored.find(name));
      std::vector<NamedTensor> tensors;
      for (const StoredTensor& tensor : stored.tensors)
        tensors.push_back({tensor.name, tensor.name == name ? changed.view() : tensor.view()});
      write_safetensors(out_ / file, tensors);
    }
    std::string message = refused();
    std::ofstream(out_ / file) << before;
    EXPECT_NE(message.find(file), std::string::npos) << message;
    EXPECT_NE(message.find(name), std::string::npos) << message;
    return message;
  }

  std::string progress_;
};

Tensor copy_of(const StoredTensor& tensor) {
  return converted(tensor.view(), DType::f32);
}

TEST_F(FalseCheckpoint, EveryFileIsTheOneOfItsManifest) {
  Training later("fp32");
  later.run(4);
  later.save(folder_.path() / "later");
  for (const char* file : {"config.json", "model.safetensors", "optimizer.safetensors", "training.json"}) {
    const std::string own = read_file(out_ / file);
    std::string damaged = own;
    damaged[damaged.size() - 3] = damaged[damaged.size() - 3] == '1' ? '2' : '1';
    std::ofstream(out_ / file) << damaged;
    EXPECT_NE(refused().find(file), std::string::npos) << file;
    fs::remove(out_ / file);
    EXPECT_NE(refused().find(file), std::string::npos) << file;
    std::ofstream(out_ / file) << own;
  }
  const std::string own = read_file(out_ / "optimizer.safetensors");
  fs::copy_file(folder_.path() / "later" / "optimizer.safetensors", out_ / "optimizer.safetensors",
                fs::copy_options::overwrite_existing);
  EXPECT_NE(refused().find("optimizer.safetensors: is not the file that was saved after step 3"), std::string::npos);
  std::ofstream(out_ / "optimizer.safetensors") << own;
  fs::copy_file(folder_.path() / "later" / "manifest.json", out_ / "manifest.json",
                fs::copy_options::overwrite_existing);
  EXPECT_NE(refused().find("step 4"), std::string::npos);
  for (const char* manifest : {"", "[]", "{}", R"({"format": "assay manifest 1", "step": -1, "files": {}})",
                               R"({"format": "assay manifest 1", "step": 1, "files": {"../../etc/passwd": {}}})"}) {
    std::ofstream(out_ / "manifest.json") << manifest;
    EXPECT_NE(refused().find("manifest.json"), std::string::npos) << manifest;
  }
}

TEST_F(FalseCheckpoint, AFolderOfBeforeThereWereManifestsIsTakenUpAndSaysSo) {
  fs::remove(out_ / "manifest.json");
  Training resumed("fp32");
  resumed.resume(out_);
  EXPECT_EQ(resumed.progress.steps, 3);
  ASSERT_EQ(resumed.notes.size(), 1U);
  EXPECT_NE(resumed.notes[0].find("no manifest"), std::string::npos);
}

TEST_F(FalseCheckpoint, CountsThatNoTrainingHasAreRefused) {
  const auto refuses = [&](const char* part, const std::function<void(Json&)>& change) {
    const std::string message = refused_progress(change);
    EXPECT_NE(message.find("training.json"), std::string::npos) << message;
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  refuses("steps", [](Json& json) { json["steps"] = -3; });
  refuses("steps", [](Json& json) { json["steps"] = 3.0; });
  refuses("steps", [](Json& json) { json["steps"] = 18446744073709551615U; });
  refuses("losses", [](Json& json) { json["steps"] = 4; });
  refuses("losses", [](Json& json) { json["losses"].push_back(1.0); });
  refuses("losses", [](Json& json) { json["losses"] = "many"; });
  refuses("loss", [](Json& json) { json["losses"][1] = "nan"; });
  refuses("updates", [](Json& json) { json["updates"] = 4; });
  refuses("updates", [](Json& json) { json["updates"] = 2; });
  refuses("loss scale", [](Json& json) { json["loss_scale"]["scale"] = -1; });
  refuses("loss scale", [](Json& json) { json["loss_scale"]["scale"] = 0; });
  refuses("loss scale", [](Json& json) { json["loss_scale"]["scale"] = 3; });
  refuses("loss scale", [](Json& json) { json["loss_scale"]["scale"] = "65536"; });
  refuses("steps_since_growth", [](Json& json) { json["loss_scale"]["steps_since_growth"] = 2000; });
  refuses("skipped", [](Json& json) { json["loss_scale"]["skipped"] = -1; });
  refuses("lacks", [](Json& json) { json.erase("options"); });
  refuses("lacks", [](Json& json) { json["loss_scale"] = 1; });
}

TEST_F(FalseCheckpoint, TensorsThatAreNotTheModelsAreRefused) {
  const std::string weight = "transformer.h.0.attn.c_attn.weight";
  const auto with = [](float value) {
    return [value](const StoredTensor& tensor) {
      Tensor changed = copy_of(tensor);
      changed.as<float>()[1] = value;
      return changed;
    };
  };
  const auto turned = [](const StoredTensor& tensor) {
    Tensor same_bytes(DType::f32, {tensor.shape[1], tensor.shape[0]});
    std::memcpy(same_bytes.data(), tensor.bytes.data(), same_bytes.bytes());
    return same_bytes;
  };
  const auto narrow = [](const StoredTensor& tensor) { return converted(tensor.view(), DType::bf16); };
  EXPECT_NE(refused_tensors("model.safetensors", weight, turned).find("(32, 96)"), std::string::npos)
      << "the shape of the published file";
  refused_tensors("model.safetensors", weight, narrow);
  refused_tensors("model.safetensors", weight, with(NAN));
  const std::string moment = "optimizer.v.h.0.attn.c_attn.weight";
  refused_tensors("optimizer.safetensors", moment, turned);
  refused_tensors("optimizer.safetensors", moment, with(INFINITY));
  EXPECT_NE(refused_tensors("optimizer.safetensors", moment, with(-1)).find("negative"), std::string::npos);
  const Safetensors stored = open_safetensors(out_ / "model.safetensors");
  std::vector<NamedTensor> more;
  for (const StoredTensor& tensor : stored.tensors) more.push_back({tensor.name, tensor.view()});
  more.push_back({"extra", stored.tensors.front().view()});
  write_safetensors(out_ / "model.safetensors", more);
  EXPECT_NE(refused().find("'extra'"), std::string::npos);
  more.resize(more.size() - 2);
  write_safetensors(out_ / "model.safetensors", more);
  EXPECT_NE(refused().find("missing"), std::string::npos);
}

TEST_F(FalseCheckpoint, AStateThatIsNotFiniteIsNeverSaved) {
  const std::string before = read_file(out_ / "model.safetensors");
  for (const char* name : {"h.0.attn.c_attn.weight", "optimizer.m.wte.weight", "optimizer.v.wte.weight"}) {
    Training training("fp32");
    training.run(4);
    training.trainer->state().find(name)->as<float>()[5] = std::numeric_limits<float>::infinity();
    training.trainer->state().store(name);
    EXPECT_NE(user_error_of([&] { training.save(out_); }).find("not finite"), std::string::npos);
    EXPECT_EQ(read_file(out_ / "model.safetensors"), before);
    EXPECT_FALSE(fs::exists(out_ / ".saving"));
  }
}

}  // namespace
}  // namespace assay
