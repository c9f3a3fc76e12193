#include <cmath>

#include "cli_fixture.h"
#include "formats/safetensors.h"

namespace assay {
namespace {

class CliLora : public Cli {
 protected:
  Arguments train(const Arguments& more) const {
    Arguments arguments = {"train", "model", "--tokens", "tokens.json", "--lr", "0.02", "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  Json losses(const Arguments& more) const {
    const Outcome outcome = run(train(more));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return parse_json(outcome.out, "stdout").at("losses");
  }
  std::string file(const std::string& name) const { return read_file(folder_.path() / name); }
  Tensor logits(const Arguments& more) const {
    const Outcome outcome = dump(more);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    const Safetensors read = open_safetensors(folder_.path() / "out.safetensors");
    return converted(read.find("logits")->view(), DType::f32);
  }
};

double cli_difference(const Tensor& a, const Tensor& b) {
  double most = 0;
  for (std::int64_t i = 0; i < a.count(); ++i)
    most = std::max(most, std::abs(static_cast<double>(a.as<float>()[i]) - b.as<float>()[i]));
  return most;
}

double held_of(const Json& cell, const char* what) {
  return cell.at("held_bytes").at(what).get<double>();
}

double weights_of(const Json& cell) {
  return held_of(cell, "weights");
}

TEST_F(CliLora, AdaptersLearnAreKeptAndStandBesideTheModelOrInIt) {
  const std::string before = file("model/model.safetensors");
  const Json all = losses({"--lora", "2:8:all-linear", "--steps", "12", "--out", "run", "--merge", "merged"});
  EXPECT_LT(all[11].get<double>(), all[0].get<double>());
  EXPECT_EQ(file("model/model.safetensors"), before);
  EXPECT_FALSE(fs::exists(folder_.path() / "run/model.safetensors"));
  const Tensor plain = logits({});
  const Tensor beside = logits({"--lora-from", "run"});
  EXPECT_GT(cli_difference(plain, beside), 1e-2);
  Arguments merged = {"dump", "merged", "--tokens", "tokens.json", "--out", "out.safetensors"};
  ASSERT_EQ(run(merged).exit_code, 0);
  const Safetensors read = open_safetensors(folder_.path() / "out.safetensors");
  EXPECT_LE(cli_difference(beside, converted(read.find("logits")->view(), DType::f32)), 1e-4);
  const Json more = losses({"--lora-from", "run", "--steps", "1"});
  EXPECT_LT(more[0].get<double>(), all[11].get<double>()) << "it goes on where the adapters are";
}

TEST_F(CliLora, AResumedTrainingIsTheSameToTheBit) {
  for (const Arguments& way : {Arguments{"--lora", "2"},
                               {"--lora", "2::all-linear", "--base", "int4-weights"},
                               {"--lora", "2", "--precision", "mixed-fp8"},
                               {"--lora", "2", "--lora-dropout", "0.1", "--precision", "mixed-bf16"}}) {
    const auto with = [&](Arguments more) {
      more.insert(more.end(), way.begin(), way.end());
      return more;
    };
    const Json whole = losses(with({"--steps", "6", "--out", "six", "--overwrite"}));
    losses(with({"--steps", "3", "--out", "three", "--overwrite"}));
    EXPECT_EQ(losses(with({"--steps", "6", "--out", "three", "--resume"})), whole);
    for (const char* name : {"adapter_model.safetensors", "optimizer.safetensors"})
      EXPECT_EQ(file(std::string("three/") + name), file(std::string("six/") + name)) << name;
  }
}

TEST_F(CliLora, TheOptimizersStateGoesToAFileAndBack) {
  const Json whole = losses({"--steps", "6", "--out", "six"});
  losses({"--steps", "3", "--out", "three", "--optimizer-to", "state.safetensors"});
  const Outcome second = run({"train", "three", "--tokens", "tokens.json", "--lr", "0.02", "--steps", "3",
                              "--optimizer-from", "state.safetensors", "--out", "on", "--json"});
  ASSERT_EQ(second.exit_code, 0) << second.err;
  const Json losses_on = parse_json(second.out, "stdout").at("losses");
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(losses_on[i], whole[i + 3]) << i;
  const Outcome resumed = run({"train", "three", "--tokens", "tokens.json", "--lr", "0.02", "--steps", "4", "--out",
                               "on", "--resume", "--json"});
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err << "its counts fit one another";
}

TEST_F(CliLora, WhatCannotBeIsOneLine) {
  const auto with = [&](Arguments more) {
    more.insert(more.end(), {"--steps", "1"});
    return train(more);
  };
  expect_failure(with({"--lora", "x"}), 2, "RANK[:alpha][:modules]");
  expect_failure(with({"--lora", "2:4:nothing"}), 2, "'nothing' names no linear layer");
  expect_failure(with({"--lora", "2", "--base", "int8"}), 2, "--base int8");
  expect_failure(with({"--base", "int8-weights"}), 2, "needs --lora");
  expect_failure(with({"--merge", "merged"}), 2, "--merge");
  expect_failure(with({"--lora-from", "nowhere"}), 2, "adapter_config.json");
  expect_failure(with({"--optimizer-from", "nowhere.safetensors"}), 2, "nowhere.safetensors");
  expect_failure(with({"--optimizer-to", "nowhere/state.safetensors", "--out", "untrained"}), 2, "nowhere");
  EXPECT_FALSE(fs::exists(folder_.path() / "untrained")) << "refused before the first step";
}

TEST_F(CliLora, AShapeNeedsNoWeights) {
  fs::create_directory(folder_.path() / "shape");
  write_text(folder_.path() / "shape/config.json", file("model/config.json"));
  const auto memory_of = [&](const Arguments& more) {
    Arguments arguments = {"memory", "--seq", "8", "--precision", "fp32", "--json", "-"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return parse_json(outcome.out, "stdout").at("cells").at(0);
  };
  const Json one = memory_of({"--config", "shape"});
  EXPECT_EQ(weights_of(one), weights_of(memory_of({"model"})));
  EXPECT_EQ(weights_of(one), weights_of(memory_of({"--config", "shape/config.json"})));
  EXPECT_GT(weights_of(memory_of({"model", "--set", "layers=7"})), weights_of(one));
  expect_failure({"memory", "model", "--set", "depth=7"}, 2, "--set depth");
  expect_failure({"memory", "model", "--set", "layers"}, 2, "NAME=VALUE");
  expect_failure({"memory", "model", "--set", "layers=1,heads=2,layers=2"}, 2, "--set: 'layers' stands there twice");
  expect_failure({"memory", "model", "--config", "shape"}, 2, "drop 'model'");
  expect_failure({"memory"}, 2, "--config is needed");
  const Outcome timed = run({"train", "--benchmark", "--config", "shape", "--steps", "1", "--warmup", "0", "--batch",
                             "3", "--seq", "8", "--accumulate", "1,2", "--optimizer", "adamw,sgd", "--clip", "0,1"});
  EXPECT_EQ(timed.exit_code, 0) << timed.err;
  EXPECT_NE(timed.out.find("sgd, clip 1, 2 parts"), std::string::npos) << timed.out;
}

TEST_F(CliLora, MemoryOfAdaptersIsLessThanOfTheModel) {
  const auto cells = [&](const Arguments& more) {
    Arguments arguments = {"memory",      "model", "--mode", "train", "--seq",       "8",
                           "--recompute", "none",  "--json", "-",     "--precision", "fp32"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return parse_json(outcome.out, "stdout").at("cells");
  };
  const Json whole = cells({}).at(0);
  const Json adapters = cells({"--lora", "1", "--base", "int8-weights,int4-weights"});
  ASSERT_EQ(adapters.size(), 2U);
  for (const Json& cell : adapters) EXPECT_LT(held_of(cell, "gradients"), 0.5 * held_of(whole, "gradients"));
  EXPECT_LT(weights_of(adapters[1]), weights_of(adapters[0]));
}

}  // namespace
}  // namespace assay
