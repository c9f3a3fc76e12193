#include "model/lora.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/testing.h"
#include "model/random_weights.h"
#include "model/testing.h"

namespace assay {
namespace {

Model small_model_to_adapt() {
  Model model;
  model.name = "small";
  model.config = small_gpt2();
  model.weights = random_weights(build_program(model.config, {}), model.config, 3);
  return model;
}

std::string refusal_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::user);
    return error.what();
  }
  return "";
}

TEST(LoraOptions, HavePeftsDefaults) {
  EXPECT_EQ(parse_lora("16", "--lora"), (LoraOptions{.rank = 16, .alpha = 8}));
  EXPECT_EQ(parse_lora("4:32", "--lora"), (LoraOptions{.rank = 4, .alpha = 32}));
  EXPECT_EQ(parse_lora("4:0.5:q_proj,v_proj", "--lora"),
            (LoraOptions{.rank = 4, .alpha = 0.5, .modules = {"q_proj", "v_proj"}}));
  EXPECT_EQ(parse_lora("4::all-linear", "--lora").modules, std::vector<std::string>{"all-linear"});
  for (const char* wrong : {"", "0", "-1", "x", "4:x", "4:-1", "99999999"}) {
    EXPECT_NE(refusal_of([&] { parse_lora(wrong, "--lora"); }), "") << wrong;
  }
}

TEST(FreshLora, BeginsAsTheModelItself) {
  const Model model = with_fresh_lora(small_model_to_adapt(), {.rank = 4, .alpha = 16}, 7);
  ASSERT_EQ(model.config.adapters.size(), 2U) << "c_attn of two layers";
  EXPECT_EQ(model.config.adapters[0], (Adapter{"h.0.attn.c_attn", 4, 4.0}));
  const WeightData a = model.weights.at("h.0.attn.c_attn.lora_A.weight").load();
  const WeightData b = model.weights.at("h.0.attn.c_attn.lora_B.weight").load();
  EXPECT_EQ(a.view.shape, (Shape{4, 32}));
  EXPECT_EQ(b.view.shape, (Shape{96, 4}));
  double squares = 0;
  for (std::int64_t i = 0; i < a.view.count(); ++i) {
    const double value = a.view.as<float>()[i];
    EXPECT_LE(std::abs(value), 1 / std::sqrt(32.0)) << "kaiming_uniform_ with a = sqrt(5)";
    squares += value * value;
  }
  EXPECT_NEAR(squares / 128, 1 / (3 * 32.0), 0.003) << "of a uniform distribution";
  for (std::int64_t i = 0; i < b.view.count(); ++i) EXPECT_EQ(b.view.as<float>()[i], 0);
}

TEST(FreshLora, NamesOfLayersAreLastPartsOfTheirs) {
  const auto count = [](std::vector<std::string> modules) {
    return with_fresh_lora(small_model_to_adapt(), {.modules = std::move(modules)}, 1).config.adapters.size();
  };
  EXPECT_EQ(count({"all-linear"}), 8U);
  EXPECT_EQ(count({"c_proj"}), 4U) << "attention's and the MLP's";
  EXPECT_EQ(count({"mlp.c_proj"}), 2U);
  EXPECT_EQ(count({"transformer.h.1.mlp.c_proj", "c_fc"}), 3U);
  EXPECT_NE(refusal_of([&] { count({"proj"}); }).find("'proj' names no linear layer"), std::string::npos);
  EXPECT_NE(refusal_of([&] { count({"wte"}); }), "") << "a table";
}

TEST(FreshLora, EveryFamilyKnowsWhatItAdapts) {
  for (const std::string& name : fixtures_with("config.json")) {
    const Model model = open_model((model_fixtures / name).string(), {});
    const Model adapted = with_fresh_lora(model, {.rank = 2}, 1);
    EXPECT_GE(adapted.config.adapters.size(), static_cast<std::size_t>(model.config.layers)) << name;
    const Json config = adapter_config(adapted, 0);
    EXPECT_LE(config.at("target_modules").size(), 2U) << name;
  }
}

TEST(AdapterFolder, WhatIsNotBuiltIsRefusedByName) {
  const TemporaryFolder folder;
  const Model model = small_model_to_adapt();
  const auto refusal = [&](const Json& config) {
    write_file_atomically(folder.path() / adapter_config_file, config.dump());
    return refusal_of([&] { with_lora_from(model, folder.path()); });
  };
  EXPECT_NE(refusal_of([&] { with_lora_from(model, folder.path()); }).find("adapter_config.json is missing"),
            std::string::npos);
  EXPECT_NE(refusal({{"peft_type", "IA3"}}).find("peft_type"), std::string::npos);
  EXPECT_NE(refusal({{"peft_type", "LORA"}, {"use_dora", true}}).find("use_dora"), std::string::npos);
  EXPECT_NE(refusal({{"peft_type", "LORA"}, {"bias", "all"}}).find("bias"), std::string::npos);
  for (const char* way : {"pissa", "pissa_niter_4", "OLoRA"})
    EXPECT_NE(refusal({{"peft_type", "LORA"}, {"init_lora_weights", way}}).find("init_lora_weights"),
              std::string::npos);
  for (const Json& way : {Json(true), Json("gaussian")})
    EXPECT_EQ(refusal({{"peft_type", "LORA"}, {"init_lora_weights", way}}).find("init_lora"), std::string::npos);
  EXPECT_NE(refusal({{"peft_type", "LORA"}, {"r", 4}}).find("adapter_model.safetensors"), std::string::npos);
}

}  // namespace
}  // namespace assay
